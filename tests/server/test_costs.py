"""No frame, whatever API and version it is for, holds up the loop or fills the memory.

For each array that a request of an API can have: as many elements as the frame's size allows, and as many as the API
accepts. The first is refused, the second is worked off in slices; meanwhile the loop makes no long turn.
"""
