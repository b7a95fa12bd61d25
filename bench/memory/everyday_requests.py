"""A request is not a fact: 100 everyday requests whose words occur in known facts end none and make none."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from bench import places
from bench.figures import Figure, Run, at_most
from bench.memory.api import Api
from bench.memory.played import reading_file
from bench.memory.standing import sessions
from bench.memory.stored import wait_until_quiet
from bench.server import serving

USER_ID = "marit"
REQUESTS_PER_SESSION = 5
FIRST_REQUEST = 1_777_885_200  # 4 May 2026, 09:00 UTC
ACKNOWLEDGED = "Sure, done."

FACTS = (
    "My physiotherapist is Ines Vidal.",
    "Our cleaner comes on Wednesdays.",
    "My car is a grey Skoda Octavia.",
    "I live on Harbour Street in Gothenburg.",
    "My landlord is Mr. Okonkwo.",
    "Our dog Biscuit eats grain-free food.",
    "My gym is the one at the Central Station.",
    "Our team's stand-up is at a quarter past nine.",
    "My accountant is Petra Lund.",
    "Our wifi network is called Lighthouse.",
    "My sister Noor lives in Rotterdam.",
    "I play the cello in an amateur orchestra.",
    "My laptop is a ThinkPad with Fedora.",
    "Our staging database is called heron.",
    "My daughter Lia is in third grade.",
    "I am allergic to walnuts.",
)

REQUESTS = (
    # the physiotherapist
    "Move my physiotherapist appointment to Thursday afternoon.",
    "Please cancel my session with Ines Vidal this week.",
    "Can you ask my physiotherapist for the exercise sheet?",
    "Find out whether Ines has anything free before nine.",
    "Write my physiotherapist a thank-you card.",
    "Give me three stretches like the ones a physiotherapist would show.",
    # the cleaner
    "Tell our cleaner to skip the study this time.",
    "Could you ask the cleaner whether she can come on Friday instead?",
    "Make a list of what the cleaner should do in the kitchen.",
    "Text our cleaner that the key is under the blue pot.",
    "Draft a polite note to the cleaner about the windows.",
    "Check what a cleaner costs per hour around here.",
    # the car
    "Book my car in for a tyre change on Monday.",
    "Look up the tyre pressure for a Skoda Octavia.",
    "Compare my car with the new electric Kia.",
    "Please find a car wash that is open on Sunday.",
    "Work out what my car would sell for in spring.",
    "I need you to renew the insurance for the Skoda.",
    "Get me a quote for painting a grey car green.",
    # the street
    "Order a pizza to Harbour Street for seven.",
    "Show me cafés close to Harbour Street.",
    "Can we get a taxi from Gothenburg airport at midnight?",
    "Print the bus times for Harbour Street.",
    "What is the quickest way from Harbour Street to the opera?",
    "Find a flat to rent in Malmö for a friend.",
    "Please draw a map of the shops in Gothenburg.",
    # the landlord
    "Write to my landlord about the dripping tap.",
    "Call Mr. Okonkwo and ask when the painters arrive.",
    "Could you phrase the letter to the landlord more kindly?",
    "Send the landlord the photos from last night.",
    "Help me to understand what a landlord must repair.",
    "Shorten the message to Mr. Okonkwo to two lines.",
    # the dog
    "Order another bag of grain-free food for Biscuit.",
    "Find a vet who can see our dog tomorrow.",
    "Write a funny birthday poem for the dog.",
    "Compare grain-free food with ordinary food for dogs.",
    "Please book a dog sitter for the long weekend.",
    "Add dog shampoo to the shopping list.",
    "Let's plan a two-hour walk with Biscuit for Saturday.",
    # the gym
    "Reserve a spinning class at my gym for six.",
    "Pause my gym membership for July, please.",
    "What does the gym at the Central Station charge for a towel?",
    "Set up a gym plan for two evenings a week.",
    "Find me a gym bag that fits under a seat.",
    "Tell me when the gym closes tonight.",
    # the stand-up
    "Move the team's stand-up to ten tomorrow only.",
    "Write three bullet points for today's stand-up.",
    "Cancel the stand-up on Friday, half the team is away.",
    "Can you summarise what the team said in the stand-up?",
    "Put the stand-up notes into a table.",
    "Invite Jonas to our stand-up on Tuesday.",
    # the accountant
    "Forward the receipts from March to my accountant.",
    "Ask Petra Lund what she needs for the tax return.",
    "Make an appointment with the accountant for next week.",
    "Explain the letter that my accountant sent.",
    "Draft a reply to Petra, friendly but firm.",
    "List the papers that an accountant usually asks for.",
    # the wifi
    "Make a sign with our wifi name for the guest room.",
    "Why is the wifi so slow in the attic?",
    "Generate a new wifi password with twelve characters.",
    "Show me how to hide a wifi network.",
    "Test the wifi again and tell me the speed.",
    "Suggest a funny wifi name for a lighthouse keeper.",
    # the sister
    "Send my sister a bunch of tulips.",
    "Find a train to Rotterdam on the second of June.",
    "Write Noor a long message about the holiday.",
    "What could I bring my sister from the market?",
    "Book a hotel in Rotterdam for two nights.",
    "Translate Noor's recipe into Swedish.",
    "Call my sister at eight and put her on speaker.",
    # the cello
    "Find sheet music for cello and piano, grade five.",
    "Tune the practice playlist down for the cello.",
    "Order new strings for my cello.",
    "Print the orchestra's rehearsal schedule.",
    "Write a short programme note for the orchestra.",
    "Compare two cello bows under 400 euros.",
    # the laptop
    "Update my laptop tonight, please.",
    "Show me how to clean a ThinkPad keyboard.",
    "Back up the laptop to the external disk.",
    "Install the printer driver on Fedora.",
    "Look for a sleeve that fits a ThinkPad.",
    "Free some space on my laptop, it is nearly full.",
    # the database
    "Restart the staging database after lunch.",
    "Dump heron and copy it to my machine.",
    "Run the migration on staging once more.",
    "Count the rows in the orders table on heron.",
    "Explain why the staging database is slower than yesterday.",
    "Drop the temporary tables in heron.",
    # the daughter
    "Help Lia with her reading homework.",
    "Make ten multiplication tasks for a third grader.",
    "Write a note for Lia's teacher, she has a cold today.",
    "Plan a birthday party for my daughter and six friends.",
    "Pick a bedtime story for Lia about whales.",
    "Find swimming lessons for my daughter after school.",
    # the allergy
    "Give me a brownie recipe without walnuts.",
    "Check whether this pesto contains walnuts.",
    "Replace the walnuts in the salad with something crunchy.",
    "Ask the restaurant about allergies before you book.",
    "Explain what causes a nut allergy.",
    "Show me a card that says 'allergic to walnuts' in Greek.",
)


class Difference(Struct, frozen=True):
    """What requests did to the memories that existed before them."""

    lost: list[str]
    made: list[str]


def difference(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> Difference:
    """A memory is lost when it is no longer current or has other words; one with a new id was made."""
    lost = [text for memory, text in before.items() if after.get(memory) != text]
    return Difference(lost, [text for memory, text in after.items() if memory not in before])


def measure(run: Run) -> Iterator[Figure]:
    requests = REQUESTS[: run.many(len(REQUESTS), 5)]
    with places.sqlite(run) as place, serving(place.environ) as server:
        api = Api(server.port)
        api.publish_sessions(USER_ID, sessions([[fact, ACKNOWLEDGED] for fact in FACTS], USER_ID))
        wait_until_quiet(place.data)
        before = api.current_memories(USER_ID)
        for start in range(0, len(requests), REQUESTS_PER_SESSION):
            _publish(api, requests[start : start + REQUESTS_PER_SESSION], start)
        wait_until_quiet(place.data)
        changed = difference(before, api.current_memories(USER_ID))
    file = reading_file("requests.txt")
    file.write_text(
        "\n".join([*(f"lost: {text}" for text in changed.lost), *(f"made: {text}" for text in changed.made)])
    )
    note = f"{len(requests)} requests after {len(FACTS)} facts; written to {file}"
    yield Figure("memories before the requests", len(before), "")
    yield Figure("facts lost", len(changed.lost), "", at_most(0), note=note)
    yield Figure("memories made", len(changed.made), "", at_most(0))


def _publish(api: Api, requests: tuple[str, ...], start: int) -> None:
    """Each request and its reply as a publish of their own, as an agent does it."""
    talk = [text for request in requests for text in (request, ACKNOWLEDGED)]
    session = sessions([talk], f"{USER_ID}-{start}", FIRST_REQUEST + start * 3_600)[0]
    for place in range(0, len(session.turns), 2):
        api.publish(USER_ID, session.id, session.turns[place : place + 2])
