"""Routes of earlier products: they translate and call the endpoints of today."""
