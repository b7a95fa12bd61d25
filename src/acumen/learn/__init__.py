"""Learn: facts about the user and lessons for the agent, from what was said."""
