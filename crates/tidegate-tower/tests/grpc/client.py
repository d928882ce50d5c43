"""Asks the example `tonic` for its health until it is denied, then streams to it.

usage: client.py PORT
"""

import sys

import grpc
from google.protobuf.wrappers_pb2 import StringValue
from grpc_health.v1 import health_pb2, health_pb2_grpc


def denied(call):
    """The error that a call ends with, once it does."""
    for passed in range(1000):
        try:
            call()
        except grpc.RpcError as error:
            return passed, error
    raise AssertionError("the call is not limited")


def expect_denial(error):
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, error
    assert error.details() == "rate limit exceeded", error
    trailers = {key: value for key, value in error.trailing_metadata()}
    assert 1 <= int(trailers["retry-after"]) <= 60, trailers
    details = trailers["grpc-status-details-bin"]
    assert b"google.rpc.RetryInfo" in details, details
    assert b"google.rpc.QuotaFailure" in details, details


def main():
    with grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}") as channel:
        grpc.channel_ready_future(channel).result(timeout=10)
        each = channel.stream_stream(
            "/echo.Echo/Each",
            request_serializer=StringValue.SerializeToString,
            response_deserializer=StringValue.FromString,
        )
        echoes = each(StringValue(value=str(number)) for number in range(100000))
        received = 0
        try:
            for received, echo in enumerate(echoes, start=1):
                assert echo.value == str(received - 1), echo
        except grpc.RpcError as error:
            expect_denial(error)
        # A hundred, and on a busy machine some that came back meanwhile.
        assert 100 <= received <= 120, received

        health = health_pb2_grpc.HealthStub(channel)
        passed, error = denied(lambda: health.Check(health_pb2.HealthCheckRequest()))
        expect_denial(error)
        assert 0 <= passed <= 12, passed


main()
print("ok")
