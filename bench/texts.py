"""Texts such as people and agents write: made up, varied, and the same for the same seed."""

from random import Random

TOOLS = """
    Postgres Redis Kafka Terraform Ansible Grafana Prometheus Kubernetes Docker Jenkins GitLab Vault Consul Nginx Envoy
    Airflow Spark Snowflake BigQuery dbt Looker Tableau Figma Notion Jira Linear Slack Zendesk Salesforce HubSpot Stripe
    Twilio SendGrid Datadog Sentry PagerDuty Okta Cloudflare Fastly Lambda DynamoDB Elasticsearch RabbitMQ Celery Django
    Flask React Vue Svelte Webpack Vite Rust Go TypeScript Python Poetry pytest Playwright Storybook Excel Outlook
""".split()
NOUNS = """
    invoice ledger payroll checkout refund subscription coupon shipment warehouse inventory supplier contract renewal
    onboarding interview roster vacation itinerary visa passport hotel flight airport luggage rental insurance claim
    policy clinic appointment prescription allergy recipe garden kitchen playlist guitar marathon bicycle camera lens
    novel podcast museum exhibition sculpture painting puppy kitten aquarium telescope microscope battery antenna sensor
    firmware gateway router cluster replica shard partition migration schema index backup restore snapshot rollback
    release branch merge review pipeline artifact container registry namespace ingress certificate password session
    token quota budget forecast quarter margin dividend audit compliance incident outage runbook escalation handover
    dashboard alert threshold latency throughput timeout retry queue worker scheduler cron webhook payload header cookie
    locale currency timezone calendar reminder agenda minutes transcript summary draft translation glossary headline
    banner thumbnail spreadsheet formula chart axis legend report survey questionnaire persona segment campaign funnel
""".split()
ADJECTIVES = """
    weekly monthly nightly quarterly annual temporary permanent internal external regional global legacy experimental
    critical optional mandatory encrypted compressed cached stale fresh partial complete manual automatic verbose silent
    strict lenient synchronous asynchronous idempotent redundant deprecated upcoming recurring urgent routine expensive
    cheap fragile robust quiet noisy vegetarian gluten-free handwritten digital foreign domestic junior senior
""".split()
VERBS = """
    deploying reviewing restoring migrating archiving encrypting publishing scheduling cancelling approving exporting
    importing summarising translating comparing estimating ordering packing booking painting repairing cleaning testing
    profiling debugging refactoring documenting onboarding interviewing negotiating forecasting reconciling auditing
    rotating renewing upgrading rolling-back monitoring throttling batching sampling labelling routing escalating
""".split()
PEOPLE = """
    Priya Tomás Aiko Olga Samuel Ingrid Mateo Chidi Leila Henrik Yara Bruno Nadia Viktor Amara Felix Zoë Darius Mei
    Joana Rafael Sunita Pavel Greta Omar Lucía Anton Freya Kofi Elif Hana Diego Maeve Tariq Ulla Stefan Imani Noor
""".split()
PLACES = """
    Lisbon Osaka Nairobi Tallinn Bogotá Leeds Zürich Austin Hanoi Montréal Kraków Perth Dakar Lyon Porto Seattle Mumbai
    Bergen Cusco Athens Malmö Quito Dublin Sapporo Tbilisi Ghent Oslo Reykjavík Split Valencia Winnipeg Busan Accra
""".split()
REGIONS = "us-east-1 us-west-2 eu-west-1 eu-central-1 ap-south-1 sa-east-1 ca-central-1 af-south-1".split()
SHAPES = (
    "{who} prefers {tool} over {tool2} for {verb} the {adj} {noun}",
    "The {adj} {noun} for {who} in {place} is kept in {tool} and checked after {verb}",
    "We moved {verb} of every {noun} from {tool} to {tool2} in {region} last {month}",
    "Never start {verb} the {noun} before {who} has signed the {adj} {noun2}",
    "{who} lives in {place} and spends most mornings {verb} a {adj} {noun}",
    "Each {noun} above {number} needs a {adj} {noun2} and a word from {who}",
    "Always run {tool} with the {adj} {noun} flag when {verb} anything in {region}",
    "The {noun} in {place} opens at {hour} and the {adj} {noun2} follows a day later",
    "{verb} the {noun} without a {adj} {noun2} broke {tool} twice in {month}",
    "{who} asked that the {noun} be written in plain words, with a {adj} {noun2} at the end",
)
MONTHS = "January February March April May June July August September October November December".split()
OPENINGS = (
    "Could you look at this once more?",
    "Thanks, that helps a lot.",
    "I have been thinking about what you wrote yesterday.",
    "Good morning, one question before the meeting.",
    "Sorry for the late answer.",
)
QUESTIONS = (
    "which tool do we use for {verb} the {adj} {noun} in {place}",
    "what did {who} say about the {noun} and the {adj} {noun2}",
    "how should I go about {verb} a {noun} in {region} with {tool}",
    "is there anything to watch out for when {verb} the {adj} {noun}",
    "where does {who} keep the {noun} for {month}, and who signs the {noun2}",
    "{tool} fails while {verb} the {noun}, what was the {adj} fix in {place}",
)
SITUATIONS = (
    "when {verb} a {adj} {noun}",
    "when {who} asks about the {noun}",
    "before {verb} anything in {region}",
    "after {tool} reports a {adj} {noun}",
    "when a {noun} and a {noun2} disagree",
)


def filled(shape: str, random: Random) -> str:
    text = shape.format(
        who=_usual(PEOPLE, random),
        tool=_usual(TOOLS, random),
        tool2=_usual(TOOLS, random),
        verb=_usual(VERBS, random),
        adj=_usual(ADJECTIVES, random),
        noun=_usual(NOUNS, random),
        noun2=_usual(NOUNS, random),
        place=_usual(PLACES, random),
        region=_usual(REGIONS, random),
        month=_usual(MONTHS, random),
        number=random.randrange(10, 5000),
        hour=f"{random.randrange(6, 22)}:{random.choice(('00', '15', '30', '45'))}",
    )
    return text[0].upper() + text[1:]


def statement(random: Random) -> str:
    """A dozen words or so that say one thing."""
    return f"{filled(random.choice(SHAPES), random)}."


def question(random: Random) -> str:
    return f"{filled(random.choice(QUESTIONS), random)}?"


def situation(random: Random) -> str:
    text = filled(random.choice(SITUATIONS), random)
    return text[0].lower() + text[1:]


def turn(random: Random) -> str:
    """About forty words, as in a chat."""
    said = " ".join(statement(random) for _ in range(3))
    return f"{random.choice(OPENINGS)} {said}"


def ticket(random: Random) -> str:
    """Names that hardly repeat are part of real texts too."""
    return f"{random.choice(('OPS', 'FIN', 'WEB', 'HR', 'DATA'))}-{random.randrange(100, 99_999)}"


def _usual(words: list[str], random: Random) -> str:
    """Some words are said much more often than others: the first about ten times as often as the middle one."""
    return words[int(len(words) * random.random() ** 2)]
