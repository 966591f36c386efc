"""The queue of KIP-236: moves of any route that wait, and which of them start.

queue_admission.py  what happens to each waiting move; how moves join and leave; how many start in a round (MAX_STARTS)
in_flight_caps.py   what counts against caps on moves in flight (`InFlightCaps` of core.settings); how many waiting
                    moves are measured (AHEAD)
window_now.py       which window holds at a time, when that changes, what it means; daylight-saving time
holding.py          moves are held and released; what a hold is: `core.state.queue_entries.Held`
lease_rates.py      another rate for the throttle leases of moves in flight and of the queue
"""
