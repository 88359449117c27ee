# Stage 1 builds the wheel, stage 2 installs only that.
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY . .
RUN pip wheel --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels \
    && useradd --create-home bench && mkdir /bench && chown bench /bench
USER bench
WORKDIR /bench
VOLUME /bench
ENTRYPOINT ["build-bench"]
CMD ["--help"]
