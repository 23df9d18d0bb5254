# syntax=docker/dockerfile:1
# One image for every stage: docker build -t clearcall:local . ; docker run clearcall:local worker --stage evaluator

# The full image has a C compiler: with it the scoring kernel is built, without it clearcall runs on Python alone.
FROM python:3.12-bookworm AS build
ARG EXTRAS=worker,clickhouse
WORKDIR /src
RUN python -m venv /opt/clearcall
COPY . .
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/clearcall/bin/pip install --disable-pip-version-check ".[${EXTRAS}]"

FROM python:3.12-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin clearcall
COPY --from=build /opt/clearcall /opt/clearcall
ENV PATH=/opt/clearcall/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CLEARCALL_LOG_FORMAT=json \
    CLEARCALL_WEB_PORT=8080
USER 10001
WORKDIR /tmp
# Whether every stage is in its group; a stalled worker ends itself.
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health/ready', timeout=5)"]
ENTRYPOINT ["clearcall"]
CMD ["--help"]
