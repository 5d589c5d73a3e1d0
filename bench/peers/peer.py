"""What the peers in Python share: `python PEER.py TOPIC SETTINGS`, as peer.mjs says it."""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor


class Clock:
    """Times between two moments, by the name of what is done between them."""

    def __init__(self):
        self.begun = {}
        self.waiting = {}
        self.times = []

    def begin(self, name):
        self.waiting[name] = threading.Event()
        self.begun[name] = time.perf_counter()

    def end(self, name):
        begun = self.begun.pop(name, None)
        if begun is None:
            return
        self.times.append((time.perf_counter() - begun) * 1000)
        self.waiting[name].set()

    def ended(self, name):
        self.waiting[name].wait()


def work(clock, settings, start):
    """Does `count` pieces of work, so many at the same time, each `units` steps."""
    count = settings["count"]
    names = [f"work-{os.getpid()}-{i}" for i in range(count)]

    def one(name):
        clock.begin(name)
        start(name)
        clock.ended(name)

    begun, before = time.perf_counter(), time.process_time()
    if settings.get("concurrency", 1) == 1:
        for name in names:
            one(name)
    else:
        with ThreadPoolExecutor(settings["concurrency"]) as pool:
            list(pool.map(one, names))
    seconds = time.perf_counter() - begun
    processor = time.process_time() - before
    units = count * settings.get("units", 1)
    return {"times": clock.times, "seconds": seconds, "processor": processor, "units": units}


def note_step(log, name, step):
    with open(log, "a") as file:
        file.write(f"{name} {step}\n")


def run(topics):
    topic, settings = sys.argv[1], json.loads(sys.argv[2])
    found = topics.get(topic, "it was not written")
    print(json.dumps(found(settings) if callable(found) else {"cannot": found}), flush=True)
    os._exit(0)
