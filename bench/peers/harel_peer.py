"""harel on SQLite, by its DurableRunner in the caller's thread: each event comes from outside, and the caller takes it through the machine."""

import time

from harel import DurableRunner, Event, SqliteStore, definition_from_dsl
from peer import Clock, run, work

SOURCE = """
event Next {}
event Last {}

machine chain {
  initial Running
  state Running {}
  final Done success

  from Running to Running on Next
  from Running to Done on Last
}

machine wait {
  initial Waiting
  state Waiting { timeout %d }
  final Done success

  from Waiting to Done on Timeout
}
"""


def runner_of(settings, timeout=1):
    store = SqliteStore(settings["file"])
    # It has no option for it.
    store._conn.execute(f"PRAGMA synchronous = {settings['durability']}")
    source = SOURCE % timeout
    definitions = [definition_from_dsl(source, name) for name in ("chain", "wait")]
    return DurableRunner(store, {each.id: each for each in definitions}, execution="inline"), definitions


def chain(settings):
    runner, (definition, _) = runner_of(settings)
    clock = Clock()

    def start(name):
        execution = runner.create(definition.id, execution_id=name)
        for _ in range(settings.get("units", 0)):
            runner.process(execution.id, Event(kind="Next"))
        runner.process(execution.id, Event(kind="Last"))
        clock.end(name)

    return work(clock, {**settings, "concurrency": 1}, start)


def timers(settings):
    delay = settings["delay"] / 1000
    runner, (_, definition) = runner_of(settings, timeout=round(delay))
    count = settings["count"]
    begun, before = time.time(), time.process_time()
    for i in range(count):
        runner.create(definition.id, execution_id=f"wait-{i}")
    armed = time.time()
    time.sleep(delay)
    from_, fired, times = time.time(), 0, []
    while fired < count:
        done = runner.fire_due_timers()
        fired += done
        times += [(time.time() - from_) * 1000] * done
    seconds, processor = time.time() - from_, time.process_time() - before
    return {"times": times, "seconds": seconds, "processor": processor, "units": count, "armedIn": armed - begun}


run(
    {
        "chain": chain,
        "noop": chain,
        "fan": "its DurableRunner runs no children; that takes its workers and a transport",
        "timers": timers,
        "begin": "nothing runs by itself in a DurableRunner: what was committed is there when the caller comes again",
    }
)
