"""The server around the app: headers, static files, turns."""
