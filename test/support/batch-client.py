# OpenAI's own client at a server with the Files and Batches API: python batch-client.py URL KEY REQUESTS.jsonl; what it saw goes to standard
# output as JSON. It reads answers by its own models, and walks through lists by its own paging. A proxy in the environment is not for
# 127.0.0.1.

import json
import os
import sys

os.environ["NO_PROXY"] = "127.0.0.1,localhost"

import openai

url, key, path = sys.argv[1:4]
client = openai.OpenAI(base_url=url, api_key=key, max_retries=3)

uploaded = client.files.create(file=open(path, "rb"), purpose="batch")
batch = client.batches.create(
    input_file_id=uploaded.id,
    endpoint="/v1/chat/completions",
    completion_window="24h",
    metadata={"of": "python"},
)
states = [batch.status]
while states[-1] not in ("completed", "failed", "expired", "cancelled"):
    batch = client.batches.retrieve(batch.id)
    if batch.status != states[-1]:
        states.append(batch.status)
output = client.files.content(batch.output_file_id)
errors = client.files.content(batch.error_file_id)
doomed = client.batches.create(input_file_id=uploaded.id, endpoint="/v1/chat/completions", completion_window="24h")
cancelling = client.batches.cancel(doomed.id)
try:
    client.batches.cancel(batch.id)
    late = None
except openai.ConflictError as error:
    late = error.status_code
try:
    openai.OpenAI(base_url=url, api_key="sk-another-one", max_retries=0).batches.retrieve(batch.id)
    stranger = None
except openai.AuthenticationError as error:
    stranger = error.code
json.dump(
    {
        "version": openai.__version__,
        "uploaded": uploaded.model_dump(),
        "states": states,
        "counts": batch.request_counts.model_dump(),
        "metadata": batch.metadata,
        "outputs": [json.loads(line) for line in output.text.splitlines()],
        "errors": [json.loads(line) for line in errors.text.splitlines()],
        "listed": [each.id for each in client.batches.list(limit=1)],
        "files": [each.filename for each in client.files.list(purpose="batch")],
        "cancelling": cancelling.status,
        "late": late,
        "stranger": stranger,
    },
    sys.stdout,
)
