"""The lines of the table, in its order."""

from functools import partial

from bench import (
    background,
    chaos,
    health,
    learning,
    machine,
    million_memories,
    model,
    observer,
    operations,
    orgs,
    places,
    process,
    processes,
    publish,
    rerun,
    retrieval,
    search,
    telemetry,
    worth,
)
from bench.aggregation import measure as aggregation
from bench.evaluation import run as evaluation
from bench.figures import Line
from bench.memory import answers, everyday_requests, losses, speed, stale, standing, worth_reading

LINES = (
    Line("machine", "fixed work, to compare runs by", machine.measure),
    Line("start", "from exec of `acumen serve` to healthy", process.start),
    Line("memory", "resident memory of the server", process.memory),
    Line("install", "the default install, model included", process.install),
    Line("publish", "2 turns over HTTP, durable, SQLite", partial(publish.measure, make_place=places.sqlite)),
    Line("operations", "recording over HTTP, durable, SQLite", partial(operations.measure, make_place=places.sqlite)),
    Line("million", "a million operations stored, SQLite", partial(operations.many, make_place=places.sqlite)),
    Line("observer", "what watching adds to a call", partial(observer.measure, make_place=places.sqlite)),
    Line("grouping", "failures with known causes", operations.grouping),
    Line("search", "new questions over HTTP, SQLite", partial(search.over_http, make_place=places.sqlite)),
    Line("search-in-process", "the same without HTTP and embedding", search.in_process),
    Line("org", "100 users over HTTP, SQLite", partial(search.org_wide, make_place=places.sqlite)),
    Line("scan", "the review queue opened on many memories of one user, SQLite", background.scan),
    Line("backlog", "claims and lag while 200,000 jobs wait", background.backlog),
    Line(
        "million-memories",
        "an org of a million memories, SQLite",
        partial(million_memories.measure, make_place=places.sqlite),
    ),
    Line(
        "million-memories-postgres",
        "the same, PostgreSQL with pgvector",
        partial(million_memories.measure, make_place=places.postgres),
    ),
    Line("learning", "searches while a backlog is learned, SQLite", learning.measure),
    Line(
        "rerun",
        "profiles made anew from all that was said, rules, SQLite",
        partial(rerun.measure, make_place=places.sqlite),
    ),
    Line("aggregation", "lessons of many users into shared ones", aggregation.measure),
    Line("health", "stats and review over a million usage events", partial(health.measure, make_place=places.sqlite)),
    Line("metered", "what being metered costs a search", partial(health.overhead, make_place=places.sqlite)),
    Line("telemetry", "what metrics and request ids cost a search", telemetry.measure),
    Line("orgs", "10,000 organizations that nobody uses, SQLite", partial(orgs.measure, make_place=places.sqlite)),
    Line(
        "orgs-postgres",
        "10,000 organizations that nobody uses, PostgreSQL",
        partial(orgs.measure, make_place=places.postgres),
    ),
    Line("worth", "a simulated agent's 2,000 sessions: what metering finds out", worth.measure),
    Line("locomo", "turns found, LoCoMo", retrieval.measure_locomo),
    Line("longmemeval", "turns found, LongMemEval", retrieval.measure_longmemeval),
    Line("evaluation", "sessions judged without a model, against labels", evaluation.measure),
    Line("answers-locomo", "contexts that bear the answer, LoCoMo", answers.measure_locomo),
    Line("answers-longmemeval", "contexts that bear the answer, LongMemEval", answers.measure_longmemeval),
    Line("stale", "updated values: newest first, with a date, LongMemEval", stale.measure),
    Line("losses", "memories that ended and turns that are hidden, over these histories", losses.measure),
    Line("worth-reading", "memories learned from these histories, for a person to judge", worth_reading.measure),
    Line("standing", "five standing preferences, twenty ordinary prompts", standing.measure),
    Line("requests", "100 everyday requests after facts that share their words", everyday_requests.measure),
    Line("search-context", "a context of 300 tokens over HTTP, LongMemEval", speed.search_context),
    Line("learning-cpu", "learning without a model, LongMemEval", speed.learning_cpu),
    Line("model", "tokens a memory costs when a model learns it", model.measure),
    Line(
        "publish-postgres",
        "2 turns over HTTP, durable, PostgreSQL (fsync on)",
        partial(publish.measure, make_place=places.postgres, targets=False),
    ),
    Line("processes", "several servers on one PostgreSQL (fsync on), publishing", processes.measure),
    Line(
        "operations-postgres",
        "recording over HTTP, durable, PostgreSQL (fsync on)",
        partial(operations.measure, make_place=places.postgres, targets=False),
    ),
    Line(
        "search-postgres",
        "new questions over HTTP, PostgreSQL",
        partial(search.over_http, make_place=places.postgres, targets=False),
    ),
    Line(
        "org-postgres",
        "100 users over HTTP, PostgreSQL",
        partial(search.org_wide, make_place=places.postgres, targets=False),
    ),
    Line(
        "health-postgres",
        "stats and review over a million usage events, PostgreSQL",
        partial(health.measure, make_place=places.postgres),
    ),
    Line("chaos", "servers and workers killed, PostgreSQL crashed, for two minutes", chaos.measure, only_named=True),
)
