from django.apps import AppConfig


class CheckingConfig(AppConfig):
    name = "tests.checking"
    label = "checking"
