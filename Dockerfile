# Two stages: dependencies from uv.lock into a folder, then that folder on a base without a shell or a package manager.
# CI has no container engine and does not build this; `make kind-load` does. The bases are pinned by digest: to move one,
# change its tag and digest together, and keep the Python version the same in both stages and in the chart's test.

FROM python:3.13-slim-trixie@sha256:3dd7cc108ec1493442514f5c2a871af6af0ec31d768ff6e378a93340c3b3db5f AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
RUN ["pip", "install", "--no-cache-dir", "--root-user-action=ignore", "uv==0.13.7"]
WORKDIR /source
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN ["uv", "export", "--frozen", "--no-dev", "--no-emit-project", "--quiet", "--output-file", "/requirements.txt"]
RUN ["uv", "pip", "install", "--no-cache", "--require-hashes", "--only-binary", ":all:", "--target", "/packages", "--requirement", "/requirements.txt"]
COPY src ./src
RUN ["uv", "build", "--wheel", "--quiet", "--out-dir", "/wheels"]
RUN ["uv", "pip", "install", "--no-cache", "--no-deps", "--no-index", "--find-links", "/wheels", "--target", "/packages", "muster-operator"]
RUN ["python", "-m", "compileall", "-q", "-j", "0", "/packages"]

FROM gcr.io/distroless/python3-debian13:nonroot@sha256:774595d652a294b54c9bd575b2d9fdd1a4b47547dc17b8bfa4c0e953c64855b3
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Muster" \
      org.opencontainers.image.description="Gang scheduling for Kubernetes Jobs: the whole gang starts or nothing does." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="The Muster authors" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="gcr.io/distroless/python3-debian13:nonroot"
COPY --from=build /packages /opt/muster
ENV PYTHONPATH=/opt/muster PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/usr/bin/python3.13", "-m", "muster"]
CMD ["run"]
