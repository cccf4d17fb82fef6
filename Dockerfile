# Headscope on a CPU: docker build -t headscope . && docker run -p 8501:8501 headscope
FROM python:3.11-slim-bookworm

# For pictures as PNG, SVG and PDF; packages.txt is the same list for Streamlit Community Cloud.
COPY packages.txt /tmp/
RUN apt-get update \
    && xargs -a /tmp/packages.txt apt-get install -y --no-install-recommends \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY requirements.txt .
# Torch first, and only from its own index: the usual build for Linux includes gigabytes of CUDA.
RUN pip install --no-cache-dir --no-deps --index-url https://download.pytorch.org/whl/cpu \
      "$(sed -n 's/^\(torch==[^ ]*\).*/\1/p' requirements.txt)" \
    && pip install --no-cache-dir -r requirements.txt

COPY . .
RUN useradd --create-home --uid 1000 headscope
USER headscope
ENV STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_HEADLESS=true
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://localhost:8501/_stcore/health')"]
CMD ["python", "-m", "headscope"]
