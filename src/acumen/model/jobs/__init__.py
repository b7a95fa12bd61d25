"""Jobs, runs, and the events that cause them."""
