"""From the published weights of all-MiniLM-L6-v2 to the int8 model we ship."""
