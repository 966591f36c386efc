"""Windows: by time of day, whether waiting moves start, and under which caps. `core.queue.window_now` applies them.

grammar.py     the setting `reassignment.windows`, parsed; how many windows it may have (MOST_WINDOWS)
times.py       which window holds at a time, and when that changes; daylight-saving time
"""
