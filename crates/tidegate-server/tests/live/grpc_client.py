"""A gRPC client in another language, generated from the published .proto.

usage: grpc_client.py PROTO_FOLDER HOST:PORT[,HOST:PORT...] tour | log FILE
"""

import importlib
import importlib.resources
import itertools
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from grpc_tools import protoc

CLIENTS = 32


def generate(proto_folder):
    """Generates the client into a folder of its own and imports it."""
    out = tempfile.mkdtemp(prefix="tidegate-python-")
    include = importlib.resources.files("grpc_tools") / "_proto"
    arguments = ["protoc", f"-I{proto_folder}", f"-I{include}", f"--python_out={out}"]
    arguments += [f"--grpc_python_out={out}", "ratelimiter/v1/ratelimiter.proto"]
    assert protoc.main(arguments) == 0, "the .proto compiles"
    sys.path.insert(0, out)
    messages = importlib.import_module("ratelimiter.v1.ratelimiter_pb2")
    services = importlib.import_module("ratelimiter.v1.ratelimiter_pb2_grpc")
    return messages, services


def code_of(call):
    """The status that a call fails with."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError("the call was expected to fail")


def tour(channel, messages, stub):
    """Every call, against ten at once and then one an hour."""
    request = messages.AllowRequest
    for left in range(9, -1, -1):
        reply = stub.Allow(request(key=b"alice"))
        assert reply.allowed and int(reply.remaining) == left and reply.limit == 10, reply
        assert reply.HasField("retryAfter") and reply.retryAfter.seconds == 0, reply
    reply = stub.Allow(request(key=b"alice"))
    assert not reply.allowed and 3500 < reply.retryAfter.seconds <= 3600, reply
    assert reply.limit_name == "default" and reply.policy == "default", reply
    exact = reply.retry_after_exact.ToNanoseconds() / 1e9
    assert 0 <= reply.retryAfter.seconds - exact < 1, reply

    reply = stub.Allow(request(key=b"bob", tokens=11))
    assert not reply.allowed and not reply.HasField("retryAfter"), reply
    assert reply.remaining == 10, "a cost that never passes changes nothing"

    both = [request(key=b"carol", tokens=4), request(key=b"carol", tokens=7)]
    reply = stub.Check(messages.CheckRequest(checks=both))
    assert not reply.allowed and reply.governing == 1, reply
    reply = stub.Check(messages.CheckRequest(checks=both, mode=messages.MODE_EACH))
    assert [one.allowed for one in reply.decisions] == [True, False], reply

    asked = [request(key=b"\xff\x00", tokens=0.5) for _ in range(21)]
    answers = list(stub.Stream(iter(asked)))
    assert [one.allowed for one in answers] == [True] * 20 + [False], answers
    assert answers[0].remaining == 9.5, answers[0]
    assert 0 < answers[-1].retry_after_exact.seconds < 1800, answers[-1]

    bad = {
        "empty key": request(),
        "negative tokens": request(key=b"k", tokens=-1),
        "tokens not a number": request(key=b"k", tokens=float("nan")),
        "long key": request(key=b"k" * 1025),
    }
    for what, message in bad.items():
        code, _ = code_of(lambda: stub.Allow(message))
        assert code == grpc.StatusCode.INVALID_ARGUMENT, (what, code)
    code, details = code_of(lambda: stub.Allow(request(key=b"k", policy="nope")))
    assert code == grpc.StatusCode.NOT_FOUND and "nope" in details, (code, details)

    health = health_pb2_grpc.HealthStub(channel)
    for service in ["", "ratelimiter.v1.RateLimiter"]:
        status = health.Check(health_pb2.HealthCheckRequest(service=service)).status
        assert status == health_pb2.HealthCheckResponse.SERVING, (service, status)
    listed = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert "ratelimiter.v1.RateLimiter" in listed, listed
    print("tour: ok")


def log(messages, stubs, path):
    """Sends the address of every line, from many threads to all services in turn, and counts."""
    with open(path, encoding="utf-8") as lines:
        addresses = [line.split(" ", 1)[0].encode() for line in lines]
    ask = lambda stub, address: stub.Allow(messages.AllowRequest(key=address)).allowed
    with ThreadPoolExecutor(CLIENTS) as pool:
        allowed = sum(pool.map(ask, itertools.cycle(stubs), addresses))
    print(f"allowed {allowed} denied {len(addresses) - allowed}")


def main():
    proto_folder, targets, what, *rest = sys.argv[1:]
    messages, services = generate(proto_folder)
    channels = [grpc.insecure_channel(target) for target in targets.split(",")]
    stubs = [services.RateLimiterStub(channel) for channel in channels]
    if what == "tour":
        tour(channels[0], messages, stubs[0])
    else:
        log(messages, stubs, rest[0])


if __name__ == "__main__":
    main()
