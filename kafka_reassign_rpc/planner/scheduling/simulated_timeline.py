import numpy as np

from kafka_reassign_rpc.planner.scheduling.fair_rates import Floats, Ints

POINTS = 60


class Timeline:
    """What brokers send and receive over virtual time, in spans of equal length. When they are used up, two become
    one.

    seconds           length of a span
    sent, received    bytes by span and broker (in the order of `brokers`)
    """

    def __init__(self, brokers: tuple[int, ...]) -> None:
        self.brokers = brokers
        self.seconds = 0.0
        self.sent: Floats = np.zeros((POINTS, len(brokers) + 1))
        self.received: Floats = np.zeros((POINTS, len(brokers) + 1))

    def add(self, now: float, seconds: float, senders: Ints, receivers: Ints, copied: Floats) -> None:
        """`senders`, `receivers`: indexes into `brokers`; `copied`: bytes."""
        if not seconds:
            return
        end = now + seconds
        self.seconds = self.seconds or end / POINTS
        while end > POINTS * self.seconds * (1 + 1e-9):
            self._halve()
        width = len(self.brokers) + 1
        sent, received = np.bincount(senders, copied, width), np.bincount(receivers, copied, width)
        first, last = int(now / self.seconds), min(POINTS - 1, int(end / self.seconds))
        for span in range(min(first, last), last + 1):
            inside = min(end, (span + 1) * self.seconds) - max(now, span * self.seconds)
            self.sent[span] += sent * (inside / seconds)
            self.received[span] += received * (inside / seconds)

    def _halve(self) -> None:
        self.seconds *= 2
        for of in (self.sent, self.received):
            of[: POINTS // 2] = of[::2] + of[1::2]
            of[POINTS // 2 :] = 0
