"""ZooKeeper: one session with typed outcomes, fenced transactions, bulk reads and watches, and the znodes' contents."""
