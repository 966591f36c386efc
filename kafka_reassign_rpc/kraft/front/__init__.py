"""A listener of ours that speaks Kafka to admin clients, in front of the cluster.

front             the listeners, and where the brokers are; requests wait while no server leads: how long, how many
                  (HELD_S, MOST_HELD)
front_connection  one client: the server's connection, with a broker behind it; its requests: ours go to the handler,
                  all others to the broker
caller_link       the connection to a broker that belongs to this client alone; its time limits (CONNECT_S, ANSWER_S);
                  its login, which the broker decides on
answer_patches    brokers' answers as clients of the front see them; the APIs that the front has, and which requests
                  about configs are for us; how clients see the brokers, and which one a client means

The last two decide without I/O. What is relayed goes under the client's own login, never under ours; brokers see the
address of this server.
"""

from kafka_reassign_rpc.kraft.front.answer_patches import Beside, EachHere, FrontNodes
from kafka_reassign_rpc.kraft.front.front import Front, FrontSettings

__all__ = ["Beside", "EachHere", "Front", "FrontNodes", "FrontSettings"]
