"""REST: wire in, one step, wire out. Each endpoint is described once, in the client's table of calls."""
