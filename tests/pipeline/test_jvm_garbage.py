"""The end of a JVM waits for the thread of py4j that drops objects there, and for nothing else."""

from threading import Event, Thread

from kafka_reassign_rpc.pipeline.spark_session import JvmGarbage


class Client:
    """As py4j's: its thread waits for the JVM's answer."""

    def __init__(self) -> None:
        self.queued: list[str] = []
        self.dropped: list[str] = []
        self.asks, self.answers = Event(), Event()

    def garbage_collect_object(self, target_id: str, enqueue: bool = True) -> None:
        if enqueue:
            self.queued.append(target_id)
            return
        self.asks.set()
        assert self.answers.wait(60)
        self.dropped.append(target_id)


def test_dp_6_the_end_waits_for_the_answer_that_is_due_and_sends_nothing_more() -> None:
    client = Client()
    garbage = JvmGarbage(client)
    client.garbage_collect_object("o1")
    worker = Thread(target=client.garbage_collect_object, args=("o2", False))
    worker.start()
    assert client.asks.wait(60)
    dropped_at_end: list[list[str]] = []

    def end() -> None:
        garbage.end()
        dropped_at_end.append([*client.dropped])

    ending = Thread(target=end)
    ending.start()
    ending.join(0.05)
    assert dropped_at_end == [], "o2 is under way"
    client.answers.set()
    for one in (ending, worker):
        one.join(60)
    client.garbage_collect_object("o3", False)
    assert (dropped_at_end, client.dropped, client.queued) == ([["o2"]], ["o2"], ["o1"])
