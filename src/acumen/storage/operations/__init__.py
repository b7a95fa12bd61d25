"""Operations of agents, failure groups, verdicts, proposals and alerts."""
