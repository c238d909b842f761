from django.apps import AppConfig


class MagiSiteConfig(AppConfig):
    name = "magi_site"
    verbose_name = "API"
