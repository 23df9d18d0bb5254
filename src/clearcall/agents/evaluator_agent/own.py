"""The settings as the evaluator agent's model sees them."""

from clearcall.infra.settings import Settings


def own_settings(settings: Settings) -> Settings:
    """The same with its own servers, model and key as the model's, and where it has no servers the consultant's.

    A key goes only to the servers that it is set for.
    """
    named = settings.evaluator_agent_model
    if not settings.evaluator_agent_urls:
        return settings.model_copy(update={"consultant": "openai", "model": named or settings.model})
    return settings.model_copy(
        update={
            "consultant": "openai",
            "urls": settings.evaluator_agent_urls,
            "model": named,
            "api_key": settings.evaluator_agent_api_key,
        }
    )
