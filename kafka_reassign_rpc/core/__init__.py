"""The pure heart of the controller: values and decisions. No I/O, no clock, no event loop."""
