"""Tool calls, their failures, and what is concluded from them."""
