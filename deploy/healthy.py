"""Whether the site in this container answers: exit status 0, or 1. Needs nothing but Python."""

import os
import sys
from http.client import HTTPConnection, HTTPException

HOST = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip() or "localhost"


def answers():
    connection = HTTPConnection("127.0.0.1", 8000, timeout=8)
    try:
        connection.request("GET", "/healthz", headers={"Host": HOST, "X-Forwarded-Proto": "https"})
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if answers() else 1)
