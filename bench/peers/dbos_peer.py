"""DBOS on SQLite."""

import threading
import time

import sqlalchemy as sa
from dbos import DBOS, Queue, SetEnqueueOptions, SetWorkflowID
from peer import Clock, note_step, run, work

clock = Clock()
late = []
log = ""


@DBOS.step()
def step(i):
    return i


@DBOS.workflow()
def chain(name, steps):
    for i in range(steps):
        step(i)
    clock.end(name)


@DBOS.workflow()
def child():
    return 1


@DBOS.workflow()
def parent(name, children):
    handles = [DBOS.start_workflow(child) for _ in range(children)]
    for handle in handles:
        handle.get_result()
    clock.end(name)


@DBOS.workflow()
def wait(due):
    late.append((time.time() - due) * 1000)


@DBOS.step()
def slow_step(name, i):
    time.sleep(0.02)
    note_step(log, name, i)


@DBOS.workflow()
def slow(name, steps):
    for i in range(steps):
        slow_step(name, i)


def launch(settings):
    global log
    log = settings.get("log", "")

    # It has no option for it: each connection is told.
    @sa.event.listens_for(sa.Engine, "connect")
    def synchronous(connection, _):
        connection.execute(f"PRAGMA synchronous = {settings['durability']}")

    DBOS(
        config={
            "name": "peers",
            "system_database_url": f"sqlite:///{settings['file']}",
            "log_level": "ERROR",
            "application_version": "1",
            "executor_id": "local",
        }
    )
    DBOS.launch()


def chains(settings):
    launch(settings)
    return work(clock, settings, lambda name: DBOS.start_workflow(chain, name, settings.get("units", 0)))


def fan(settings):
    launch(settings)
    return work(clock, settings, lambda name: DBOS.start_workflow(parent, name, settings["units"]))


def timers(settings):
    launch(settings)
    DBOS.register_queue("timers")
    count = settings["count"]
    begun, before = time.time(), time.process_time()
    due = begun + settings["delay"] / 1000
    for _ in range(count):
        with SetEnqueueOptions(delay_seconds=max(due - time.time(), 0)):
            DBOS.enqueue_workflow("timers", wait, due)
    armed = time.time()
    while len(late) < count:
        time.sleep(0.02)
    seconds, processor = max(time.time() - due, 0.001), time.process_time() - before
    return {"times": late, "seconds": seconds, "processor": processor, "units": count, "armedIn": armed - begun}


def begin(settings):
    launch(settings)
    for i in range(settings["count"]):
        with SetWorkflowID(f"slow-{i}"):
            DBOS.start_workflow(slow, f"slow-{i}", settings["units"])
    threading.Event().wait()


def recover(settings):
    launch(settings)
    for i in range(settings["count"]):
        DBOS.retrieve_workflow(f"slow-{i}").get_result()
    return {}


run({"chain": chains, "noop": chains, "fan": fan, "timers": timers, "begin": begin, "recover": recover})
