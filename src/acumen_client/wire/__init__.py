"""The shapes of the API, a file per verb; both the server and the clients use them."""
