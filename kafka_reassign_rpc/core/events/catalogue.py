"""Every event that a controller records. The event log, standard error, the metrics `kafka_reassign_events_total` and
`kafka_reassign_moves_total`, the client, the pipeline and `docs/events.md` follow it.
"""

from typing import NamedTuple

MOVE_PREFIX = "move."

MOVE_STARTED = "move.started"
MOVE_RETARGETED = "move.retargeted"
MOVE_COMPLETED = "move.completed"
MOVE_CANCELLED = "move.cancelled"
MOVE_GONE = "move.gone"
MOVE_REFUSED = "move.refused"
MOVE_WAITING = "move.waiting"
MOVE_WITHDRAWN = "move.withdrawn"
MOVE_HELD = "move.held"
MOVE_RELEASED = "move.released"
MOVE_STALLED = "move.stalled"
MOVE_RESUMED = "move.resumed"
MOVES_DONE = "moves.done"

REFUSALS_LEFT_OUT = "refusals.left_out"

ENTRY_REFUSED = "entry.refused"
ENTRY_WAITING = "entry.waiting"
ENTRY_ROLLED_BACK = "entry.rolled_back"
ENTRY_CANCEL_SKIPPED = "entry.cancel_skipped"
BATCH_CANCELLED = "batch.cancelled"

CONFIG_CHANGED = "config.changed"

REASSIGNMENTS_DISABLED = "reassignments.disabled"
REASSIGNMENTS_ENABLED = "reassignments.enabled"

BROKER_LOST = "broker.lost"
BROKER_RETURNED = "broker.returned"
BROKER_SETTINGS_DIFFER = "broker.settings_differ"
BROKER_REPLICAS_OFFLINE = "broker.replicas_offline"
BROKER_REPLICAS_STOPPED = "broker.replicas_stopped"
BROKER_LOGS_LEFT = "broker.logs_left"

HEAL_NOTICED = "heal.noticed"
HEAL_ALERT = "heal.alert"
HEAL_OVER = "heal.over"
HEAL_PAUSED = "heal.paused"
HEAL_RESUMED = "heal.resumed"
HEAL_HELD_BACK = "heal.held_back"
HEAL_MISCONFIGURED = "heal.misconfigured"
HEAL_SCHEDULED = "heal.scheduled"
HEAL_UNAPPROVED = "heal.unapproved"
HEAL_APPROVED = "heal.approved"
HEAL_IMPOSSIBLE = "heal.impossible"
HEAL_DROPPED = "heal.dropped"
HEAL_DONE = "heal.done"

WINDOW_CHANGED = "window.changed"
THROTTLE_CHANGED = "throttle.changed"
THROTTLE_SET = "throttle.set"
THROTTLE_RESTORED = "throttle.restored"
THROTTLE_STAYS = "throttle.stays"
THROTTLE_REMOVED = "throttle.removed"

TOPIC_CREATED = "topic.created"
TOPIC_PARTITIONS_ADDED = "topic.partitions_added"
TOPIC_DELETED = "topic.deleted"
TOPIC_VANISHED = "topic.vanished"
TOPIC_LEFT_ALONE = "topic.left_alone"
TOPIC_TAKEN_UP = "topic.taken_up"
TOPIC_ID_EDITED = "topic.id_edited"

PARTITION_EDIT_NOT_FOLLOWED = "partition.edit_not_followed"

CORDON_CORRECTED = "cordon.corrected"
REPLICA_PLACED = "replica.placed"
CORDON_BROKEN = "cordon.broken"

LEADERS_ELECTED = "leaders.elected"

ACL_CREATED = "acl.created"
ACL_DELETED = "acl.deleted"
ACCESS_DENIED = "access.denied"

CONTROLLER_ELECTED = "controller.elected"
CONTROLLER_RESIGNED = "controller.resigned"


class EventType(NamedTuple):
    """level    as `logging` spells it, for standard error; "WARNING" if an operator may have to act
    fields   the optional fields besides `EVERY_EVENT`
    refusal  nothing was done. Any client can cause such events, so they have their own files and limited rate
    """

    name: str
    level: str
    fields: tuple[str, ...]
    meaning: str
    refusal: bool = False


EVERY_EVENT = {
    "seq": "number of the event in the log of its server, from 0 on; a gap means events that could not be written",
    "at": "when the event was recorded, in ms since the epoch",
    "server": "id of the server that recorded it; null: `watch` did (-1 up to release 0.3.0)",
    "epoch": "controller epoch under which it happened; null: not known (-1 up to release 0.3.0)",
    "event": "name of the event",
}
"""Fields of every line of the event log."""

EVENT_FIELDS = {
    "topic": "the topic",
    "partition": "the partition's number; without it the event is about the whole topic",
    "id": "id of the move: the czxid of `/admin/reassignments/TOPIC/PARTITION`; unique for that partition",
    "route": "how the move came: `rpc`, `batch`, `queue`, `request` or `heal`",
    "who": "who asked, for people: a client (`User:alice as admin-1 from 10.0.0.7`), `znode /admin/…`, `queue` (in"
    " front of KRaft: what the queue itself starts), or `controller`; a principal or client id that is not one plain"
    " word is in quotes, with escapes as in JSON",
    "requested_by": "who had asked for the move that `who` has ended or changed, if that was another",
    "principal": "the principal of the client that asked",
    "client_id": "the client id of the client that asked, if it sends one: it may be anything",
    "address": "the address of the client that asked",
    "listener": "the listener that the client came in by",
    "mechanism": "the SASL mechanism by which the client authenticated, if it did",
    "reason": "free text: the error of a refusal; for a move, the reason that was given together with its target",
    "target": "replicas that the move leads to",
    "original": "replicas that a cancel goes back to",
    "replicas": "the partition's replicas after the event",
    "bytes": "a rate in bytes per second",
    "broker": "id of a broker",
    "copied": "bytes that the move has copied, all adding replicas together; of a cancelled move as of the last"
    " sample; left out where no sample has it",
    "started": "when the move started, in ms since the epoch: the ctime of its znode",
    "count": "number of partitions or refusals that the event is about, if it is not one",
}
"""Fields that only some events have."""

_WHO = ("who", "principal", "client_id", "address", "listener", "mechanism")
_MOVE = ("topic", "partition", "id", "route", *_WHO, "reason", "target", "original", "replicas", "started")
_QUEUED = ("topic", "partition", "route", *_WHO, "reason", "target")
_ENDED = (*_MOVE, "requested_by")
_ENTRY = ("topic", "partition", *_WHO, "reason", "target")
_SAMPLED = ("topic", "partition", "id", "target", "replicas", *_WHO)

_TYPES = (
    EventType(MOVE_STARTED, "INFO", _MOVE, "A partition's move has started."),
    EventType(MOVE_RETARGETED, "INFO", _ENDED, "A partition in flight has got another target."),
    EventType(
        MOVE_COMPLETED,
        "INFO",
        (*_MOVE, "copied"),
        "A partition has reached its target. `who`, if it is known, asked for the move.",
    ),
    EventType(MOVE_CANCELLED, "INFO", (*_ENDED, "copied"), "A move was cancelled: the original replicas are back."),
    EventType(
        MOVE_GONE,
        "INFO",
        _ENDED,
        "`watch`, or a server in front of KRaft, no longer sees a move, and it was neither completed nor cancelled;"
        " `reason` says what is known: its partition was deleted, or the target or the replicas are others.",
    ),
    EventType(
        MOVE_REFUSED,
        "INFO",
        ("topic", "partition", "id", *_WHO, "reason", "target", "count"),
        "A client's target for a partition was refused. Of one request the first 10 refusals have an event each; the"
        " others share one, with `count` and how many had which error.",
        refusal=True,
    ),
    EventType(MOVE_WAITING, "INFO", _QUEUED, "A move has joined the queue."),
    EventType(MOVE_WITHDRAWN, "INFO", (*_QUEUED, "requested_by"), "A move has left the queue before it started."),
    EventType(
        MOVE_HELD,
        "INFO",
        _QUEUED,
        "A move of the queue does not start before it is released; `reason` says why, if that was given.",
    ),
    EventType(MOVE_RELEASED, "INFO", _QUEUED, "A move of the queue that was held may start when it is its turn."),
    EventType(
        MOVE_STALLED,
        "WARNING",
        (*_SAMPLED, "reason"),
        "A move has made no progress for `reassignment.stall.timeout.ms`, and not because others use up its throttle;"
        " `reason` is the most likely cause.",
    ),
    EventType(MOVE_RESUMED, "INFO", _SAMPLED, "A stalled move makes progress again."),
    EventType(
        MOVES_DONE,
        "INFO",
        ("route", "reason", "count"),
        "A request or plan is finished: of the moves with this `route` and `reason` none is in flight or waits any"
        " more, and `count` have ended since the first, completed or not. The next sample of progress finds it"
        " (`reassignment.progress.interval.ms`); a repair has `heal.done` instead.",
    ),
    EventType(
        ENTRY_REFUSED,
        "WARNING",
        (*_ENTRY, "route"),
        "An entry of a znode cannot be carried out, or a znode cannot be read.",
        refusal=True,
    ),
    EventType(
        REFUSALS_LEFT_OUT,
        "WARNING",
        ("reason", "count"),
        "There were more refusals than the log takes in a second: `count` of them have no event. `reason` says how many"
        " came from which addresses.",
        refusal=True,
    ),
    EventType(
        ENTRY_WAITING,
        "WARNING",
        (*_ENTRY, "route", "broker"),
        "Entries of a znode have to wait: for reassignments to be enabled, for a broker, or for other moves.",
    ),
    EventType(
        ENTRY_ROLLED_BACK,
        "WARNING",
        _ENTRY,
        "The cancel of the batch has rolled back a move whose entry names other original replicas than it had: `reason`"
        " says to which.",
    ),
    EventType(
        ENTRY_CANCEL_SKIPPED,
        "WARNING",
        _ENTRY,
        "The cancel of the batch has not cancelled a move: it goes on, and its entry, if it has one, stays (KIP-236).",
    ),
    EventType(
        BATCH_CANCELLED,
        "WARNING",
        (*_WHO, "reason"),
        "`/admin/cancel_reassignment_in_progress` was carried out.",
    ),
    EventType(
        REASSIGNMENTS_DISABLED,
        "WARNING",
        ("reason", *_WHO),
        "No new move starts: `/admin/reassign_cancel` exists, or `partition.reassignments.enabled` is `false`. `who`,"
        " if it is known, has set that. Each new controller records it again. In front of KRaft: the cluster takes no"
        " change of a move from this server; `reason` has its error, and what to grant.",
    ),
    EventType(REASSIGNMENTS_ENABLED, "INFO", _WHO, "New moves may start again."),
    EventType(
        WINDOW_CHANGED,
        "INFO",
        (*_WHO, "reason"),
        "Another window of `reassignment.windows` holds, or none: `reason` has which, until when, and whether waiting"
        " moves start. Each new controller records it again.",
    ),
    EventType(
        CONFIG_CHANGED,
        "INFO",
        ("topic", "broker", *_WHO, "reason"),
        "A client has changed configs at this server: of a topic, of all brokers, of this server's own node (there are"
        " the settings of all servers), of a user, a client or an IP. `reason` has the first of them with their values"
        " before and after; values that may be secret are hidden. What clients change at brokers has no event.",
    ),
    EventType(BROKER_LOST, "WARNING", ("broker",), "A broker is no longer registered."),
    EventType(BROKER_RETURNED, "INFO", ("broker", "reason"), "A broker has registered, or has registered again."),
    EventType(
        BROKER_SETTINGS_DIFFER,
        "WARNING",
        ("reason",),
        "Brokers were started with a setting that differs from the server's own or from that of other brokers, or with"
        " one that does not go together with this server. Reported again only after another change.",
    ),
    EventType(
        BROKER_REPLICAS_OFFLINE,
        "WARNING",
        ("broker", "count", "reason", *_WHO),
        "A log dir of a broker has failed, or has logs of earlier topics of the same names: `count` replicas are "
        "offline, the first of them in `reason`. Others lead.",
    ),
    EventType(
        BROKER_REPLICAS_STOPPED,
        "WARNING",
        ("broker", "count", "reason", *_WHO),
        "A broker held `count` replicas, the first of them in `reason`, that are no longer assigned to it: topics were"
        " edited in ZooKeeper, older ones were put back, or an earlier controller had not stopped them. It no longer"
        " leads or follows them. Their logs stay on its disk.",
    ),
    EventType(
        BROKER_LOGS_LEFT,
        "INFO",
        ("broker", "count", "reason", *_WHO),
        "A broker has `count` logs on disk, the first of them in `reason`, of replicas that are not assigned to it. It"
        " does not use them, and they stay until the replica is assigned to it again or they are deleted while the"
        " broker is stopped.",
    ),
    EventType(HEAL_NOTICED, "INFO", ("broker", *_WHO, "reason"), "A broker that holds replicas counts as failed."),
    EventType(
        HEAL_ALERT,
        "INFO",
        ("broker", *_WHO, "reason"),
        "A broker has been gone, or its log dirs have failed, for longer than `failure.alert.interval.ms`.",
    ),
    EventType(
        HEAL_OVER,
        "INFO",
        ("broker", *_WHO, "reason"),
        "A broker no longer counts as failed: it is back, it no longer holds a replica, or its repair takes the"
        " last ones away.",
    ),
    EventType(HEAL_PAUSED, "INFO", ("reason", *_WHO), "Self-healing was paused by an operator."),
    EventType(HEAL_RESUMED, "INFO", _WHO, "Self-healing was resumed by an operator."),
    EventType(
        HEAL_HELD_BACK,
        "INFO",
        (*_WHO, "reason"),
        "Repairs are due and do not start, for example because too many brokers are gone or reassignments are"
        " disabled.",
    ),
    EventType(HEAL_MISCONFIGURED, "INFO", (*_WHO, "reason"), "A setting of self-healing is not understood."),
    EventType(HEAL_SCHEDULED, "INFO", ("broker", *_WHO, "reason"), "The moves of a broker's repair joined the queue."),
    EventType(
        HEAL_UNAPPROVED,
        "INFO",
        ("broker", *_WHO, "reason"),
        "Moves of a broker's repair wait for approval (`self.healing.approval`).",
    ),
    EventType(HEAL_APPROVED, "INFO", ("broker", *_WHO, "reason"), "A broker's repair was approved: it may start."),
    EventType(HEAL_IMPOSSIBLE, "INFO", (*_WHO, "reason"), "A repair has to leave partitions as they are."),
    EventType(
        HEAL_DROPPED,
        "INFO",
        (*_WHO, "reason"),
        "What a repair replaces is no longer lost: its moves that had not started left the queue.",
    ),
    EventType(HEAL_DONE, "INFO", (*_WHO, "reason"), "The last move of a repair has ended."),
    EventType(
        THROTTLE_CHANGED,
        "INFO",
        ("bytes", *_WHO, "reason"),
        "Moves have got another leased rate, or none where there are no `bytes`: `reason` has how many in flight and"
        " waiting, and for repairs the setting that they follow.",
    ),
    EventType(
        THROTTLE_SET,
        "INFO",
        ("broker", "bytes", *_WHO, "reason"),
        "A broker has got a leased rate. With a `reason`, others have changed or deleted the rate: `reason` has"
        " what was found. Where `who` is the controller, that of leases is back.",
    ),
    EventType(
        THROTTLE_RESTORED,
        "INFO",
        ("broker", "bytes", *_WHO, "reason"),
        "A broker's last lease has ended, and its rate is what it was before, or none.",
    ),
    EventType(
        THROTTLE_STAYS,
        "WARNING",
        ("topic", "broker", *_WHO, "reason"),
        "Configs that throttle cannot be read or changed for now: a lease is not set there, and one that has ended is"
        " not taken back. It is tried again; `reason` says what helps.",
    ),
    EventType(
        THROTTLE_REMOVED,
        "WARNING",
        ("topic", "broker", "bytes", *_WHO, "reason"),
        "Somebody else has removed throttles that leases need. `reason` has which, and whether they are back: entries"
        " of a topic's lists come back once, as rates do (`throttle.set`). What is removed again is left so, moves go"
        " on without it, and `reason` has the command that sets it again.",
    ),
    EventType(TOPIC_CREATED, "INFO", ("topic", *_WHO, "reason"), "A client has created a topic."),
    EventType(TOPIC_PARTITIONS_ADDED, "INFO", ("topic", *_WHO, "reason"), "A client has added partitions to a topic."),
    EventType(TOPIC_DELETED, "INFO", ("topic", *_WHO), "The deletion of a topic has begun."),
    EventType(
        TOPIC_VANISHED,
        "WARNING",
        ("topic", *_WHO, "reason", "count"),
        "A topic's znode, or `count` of its partitions, was removed without a mark of deletion. This server forgets"
        " them; brokers go on with them, and no log is deleted.",
    ),
    EventType(
        TOPIC_LEFT_ALONE,
        "WARNING",
        ("topic", "reason"),
        "A topic's znode cannot be understood, or has the id of a topic that had it first. Whatever is asked about this"
        " topic is refused; brokers go on with what they know of it.",
    ),
    EventType(TOPIC_TAKEN_UP, "INFO", ("topic",), "A topic that was left alone is served again, or its znode is gone."),
    EventType(
        TOPIC_ID_EDITED,
        "ERROR",
        ("topic", "reason"),
        "While no server controlled the cluster, others have given a topic's znode another id than brokers know it by."
        " They refuse their logs until the znode has the former one again.",
    ),
    EventType(
        PARTITION_EDIT_NOT_FOLLOWED,
        "WARNING",
        ("topic", "partition", *_WHO, "reason", "target", "replicas"),
        "A topic's znode was edited so that no live replica in sync would be left: the former ones stay.",
    ),
    EventType(
        CORDON_CORRECTED,
        "INFO",
        ("topic", "partition", *_WHO, "reason", "replicas"),
        "Others, such as a stock broker by itself, have created a topic or added partitions with replicas on"
        " cordoned brokers: other brokers get these replicas, before there is a log. It is no move: `moves.done` does"
        " not count it.",
    ),
    EventType(
        REPLICA_PLACED,
        "INFO",
        ("topic", "partition", *_WHO, "reason", "replicas"),
        "A stock broker that creates a topic by itself takes this server for a broker: another one gets that replica,"
        " before brokers hear of it; or the next one that is free, if none was. It is no move: `moves.done` does not"
        " count it.",
    ),
    EventType(
        CORDON_BROKEN,
        "WARNING",
        ("broker", *_WHO, "reason", "count"),
        "A cordoned broker has got `count` new replicas anyway, of which `reason` has the first: a client has"
        " named it, a move that was under way leads there, or no other broker was free.",
    ),
    EventType(
        LEADERS_ELECTED,
        "INFO",
        (*_WHO, "reason", "count"),
        "Leaders were elected on request: of `count` partitions, of which `reason` has the first ones, and whether the"
        " election was unclean.",
    ),
    EventType(
        ACL_CREATED,
        "INFO",
        (*_WHO, "reason", "count"),
        "A client has created ACLs of a resource: `count` of them, of which `reason` has the first ones.",
    ),
    EventType(
        ACL_DELETED,
        "INFO",
        (*_WHO, "reason", "count"),
        "A client has deleted ACLs of a resource: `count` and `reason` as above.",
    ),
    EventType(
        ACCESS_DENIED,
        "INFO",
        (*_WHO, "reason", "count"),
        "The authorizer has refused a request, or parts of it: `reason` has the API, the operations that the client may"
        " not do, and on which resources. `count` is the number of these refusals.",
        refusal=True,
    ),
    EventType(CONTROLLER_ELECTED, "INFO", (), "This server has become the controller."),
    EventType(
        CONTROLLER_RESIGNED,
        "WARNING",
        ("reason",),
        "This server is no longer the controller. Without a `reason` it was stopped, and the level is INFO.",
    ),
)

EVENTS: dict[str, EventType] = {event.name: event for event in _TYPES}
"""In the order of `docs/events.md`."""
