"""Jobs: carry events to the steps they trigger, durably."""
