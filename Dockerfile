# Two stages: dependencies from uv.lock into a folder, then that folder on a base without a shell or a package manager.
# Both bases are arguments, for a mirror or for stand-ins of one's own; `make image-pins` adds the digests of the tags. To
# move one, keep the Python version the same in both stages and in the chart's test.
ARG BUILD_BASE=python:3.13-slim-trixie
ARG BASE=gcr.io/distroless/python3-debian13:nonroot

FROM ${BUILD_BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
RUN ["pip", "install", "--no-cache-dir", "--root-user-action=ignore", "uv==0.13.7"]
WORKDIR /source
COPY pyproject.toml uv.lock README.md LICENSE ./
# In a pod nothing reads a kubeconfig: without that package, and what only it needs, the image is less than half as large.
RUN ["uv", "export", "--frozen", "--no-dev", "--no-emit-project", "--prune", "kubernetes", "--quiet", "--output-file", "/requirements.txt"]
RUN ["uv", "pip", "install", "--no-cache", "--require-hashes", "--only-binary", ":all:", "--target", "/packages", "--requirement", "/requirements.txt"]
# The builder that uv.lock pins: with a newer one the same commit would give another wheel.
RUN ["uv", "export", "--frozen", "--only-group", "release", "--quiet", "--output-file", "/builder.txt"]
COPY src ./src
RUN ["uv", "build", "--wheel", "--quiet", "--build-constraints", "/builder.txt", "--require-hashes", "--out-dir", "/wheels"]
# Unpacked: the wheel is pure Python, and uv would note the time of the build beside a wheel from a folder.
RUN ["python", "-c", "import glob, sys, zipfile; zipfile.ZipFile(*glob.glob(sys.argv[1])).extractall(sys.argv[2])", "/wheels/*.whl", "/packages"]
# The root is read-only, so that every start would compile anew. Unchecked: no tool that resets times makes it stale.
RUN ["python", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "/packages"]

FROM ${BASE}
ARG BASE
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Muster" \
      org.opencontainers.image.description="Gang scheduling for Kubernetes Jobs: the whole gang starts or nothing does." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="The Muster authors" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE}"
COPY --from=build /packages /opt/muster
ENV PYTHONPATH=/opt/muster PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/usr/bin/python3.13", "-m", "muster"]
CMD ["run"]
