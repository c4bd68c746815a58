# OpenEnv's own client, models and validator against a running environment: python openenv-client.py URL [KEY]; what they saw goes to
# standard output as JSON. A proxy in the environment is not for 127.0.0.1.

import asyncio
import json
import os
import sys
from urllib.parse import quote

os.environ["NO_PROXY"] = "127.0.0.1,localhost"

import requests
from openenv.cli._validation import validate_running_environment
from openenv.core import GenericEnvClient
from openenv.core.env_server.types import (
    EnvironmentMetadata,
    HealthResponse,
    ResetResponse,
    SchemaResponse,
    State,
    StepResponse,
)

url = sys.argv[1]
key = sys.argv[2] if len(sys.argv) > 2 else None
headers = {"authorization": f"Bearer {key}"} if key else {}
socket_url = url.replace("http://", f"ws://agent:{quote(key, safe='')}@") if key else url


def result(step):
    return {"observation": step.observation, "reward": step.reward, "done": step.done}


def over_socket():
    seen = {}
    with GenericEnvClient(base_url=socket_url).sync() as env:
        seen["reset"] = result(env.reset(domain="terminal", task="look", seed=7, episode_id="mine"))
        seen["step"] = result(env.step({"action": "ls"}))
        seen["state"] = env.state()
        seen["last"] = result(env.step({"action": [{"keystrokes": "pwd\n", "duration": 0.5}]}))
        for name, act in {
            "late": lambda: env.step({"action": "ls"}),
            "wrong": lambda: env.step({"command": "ls"}),
            "nowhere": lambda: env.reset(domain="chess"),
        }.items():
            try:
                act()
            except RuntimeError as error:
                seen[name] = str(error)
        seen["again"] = result(env.reset())
    return seen


async def side_by_side():
    async def episode(number):
        async with GenericEnvClient(base_url=socket_url) as env:
            await env.reset()
            texts = [(await env.step({"action": f"{number}.{step}"})).observation["text"] for step in range(2)]
            return texts

    return await asyncio.gather(*(episode(number) for number in range(8)))


def over_http():
    def post(path, body, model):
        return model(**requests.post(f"{url}{path}", json=body, headers=headers).json()).model_dump()

    def get(path, model):
        return model(**requests.get(f"{url}{path}", headers=headers).json()).model_dump()

    missing = requests.post(f"{url}/step", json={"episode_id": "nobody", "action": {"action": "ls"}}, headers=headers)
    return {
        "reset": post("/reset", {"episode_id": "h", "domain": "web"}, ResetResponse),
        "step": post("/step", {"episode_id": "h", "action": {"action": "ls"}, "timeout_s": 30}, StepResponse),
        "state": get("/state?episode_id=h", State),
        "health": get("/health", HealthResponse),
        "schema": sorted(get("/schema", SchemaResponse)),
        "metadata": get("/metadata", EnvironmentMetadata)["name"],
        "missing": missing.status_code,
    }


report = {"socket": over_socket(), "sideBySide": asyncio.run(side_by_side()), "http": over_http()}
if key is None:
    report["validation"] = validate_running_environment(url)
    for criterion in report["validation"]["criteria"]:
        criterion.pop("actual", None)
print(json.dumps(report))
