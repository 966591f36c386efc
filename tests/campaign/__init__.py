"""A campaign: stock brokers under load, under our servers, and under everything that can happen to them.

make campaign SEED=7 MINUTES=5

steps           the kinds of steps, and how often each comes
generator       from a seed to the steps: pure
site            the processes: ZooKeeper, brokers, our servers, the proxies between them
*_steps         what each step does: night_steps those of operators at night, edit_steps edits of replicas by hand,
                mistake_steps mistakes of which nothing may come
topics_by_admin topics made, grown and deleted by an admin client, in both campaigns
executor        carries the steps out, lane by lane
producers, readers   the load, and what it was told; client_log: what librdkafka says of itself
facts           what the cluster shows
checks, record_checks, watch   what has to hold: pure
newborn_broker   a broker of tests that knows no broker, as a stock one that has just started
stock_controllers, stock_coordinators, stock_logs   defects of stock brokers, known from their logs
relief          another coordinator of transactions where a stock broker's load failed
verdict         brings the cluster to rest and makes every check
"""
