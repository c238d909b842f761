from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from magi_site.admin import LONGEST_LIFE
from magi_site.models import NAME_LENGTH, Token


class Command(BaseCommand):
    help = "Make a token for the API. It is printed once and kept nowhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="whose it is: whoever has it may do what this user may")
        parser.add_argument("--name", default="", help="what it is for, so that it can be told from others")
        parser.add_argument("--expires", metavar="DAYS", type=int, help="how long it holds (default: until revoked)")

    def handle(self, *, user: str, name: str, expires: int | None, **options: Any) -> None:
        owner = get_user_model().objects.filter(username=user).first()
        if owner is None or not owner.is_active:
            raise CommandError(f"There is no active user “{user}”.")
        if expires is not None and not 1 <= expires <= LONGEST_LIFE:
            raise CommandError(f"--expires takes 1 to {LONGEST_LIFE:,} days.")
        if len(name) > NAME_LENGTH:
            raise CommandError(f"A name has at most {NAME_LENGTH} characters.")
        self.stdout.write(Token.objects.make(owner, name, expires).secret)
