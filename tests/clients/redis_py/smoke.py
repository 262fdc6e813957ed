"""redis-py against a RESP address: `python3 smoke.py PORT`. Both protocols; ends with one line of figures."""

import sys
import threading

import redis

PORT = int(sys.argv[1])


def connect(protocol):
    return redis.Redis(port=PORT, protocol=protocol, decode_responses=True, socket_timeout=20)


def pipelines(r):
    with r.pipeline(transaction=False) as p:
        for n in range(100):
            p.set(f"k{n}", n)
        p.mget([f"k{n}" for n in range(100)])
        replies = p.execute()
    assert replies[:100] == [True] * 100 and replies[100] == [str(n) for n in range(100)]
    with r.pipeline() as p:
        p.incr("n").expire("n", 100).ttl("n").lpush("n", "wrong type").incr("n")
        replies = p.execute(raise_on_error=False)
    assert replies[:3] == [1, True, 100] and isinstance(replies[3], redis.ResponseError)
    assert replies[4] == 2


def transactions(r):
    """Two threads add to one number, each by WATCH, until both are done."""
    tries = []

    def add():
        mine = connect(2)
        for _ in range(25):
            def change(pipe):
                tries.append(1)
                value = int(pipe.get("balance") or 0)
                pipe.multi()
                pipe.set("balance", value + 1)
            mine.transaction(change, "balance")

    threads = [threading.Thread(target=add) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert r.get("balance") == "50"
    assert len(tries) >= 50


def messages(r):
    listener = r.pubsub(ignore_subscribe_messages=True)
    listener.subscribe("news")
    listener.psubscribe("w*")
    while r.pubsub_numsub("news")[0][1] == 0 or r.pubsub_numpat() == 0:
        pass
    assert r.publish("news", "one") == 1 and r.publish("weather", "two") == 1
    heard = []
    while len(heard) < 2:
        message = listener.get_message(timeout=20)
        if message:
            heard.append((message["type"], message["channel"], message["data"]))
    assert heard == [("message", "news", "one"), ("pmessage", "weather", "two")], heard
    listener.close()


def scripts(r):
    add = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert add(keys=["s"], args=[5]) == 5
    r.script_flush()
    assert add(keys=["s"], args=[5]) == 10
    try:
        r.eval("return redis.call('LPUSH', KEYS[1], 1)", 1, "s")
    except redis.ResponseError as error:
        assert "WRONGTYPE" in str(error), error
    else:
        raise AssertionError("an error was expected")
    r.function_load("#!lua name=py\nredis.register_function('twice', function(k, a) return a[1] * 2 end)", replace=True)
    assert r.fcall("twice", 0, 21) == 42


def values(r):
    r.hset("h", mapping={"a": 1, "b": 2})
    assert r.hgetall("h") == {"a": "1", "b": "2"}
    r.zadd("z", {"a": 1, "b": 2.5})
    assert [tuple(pair) for pair in r.zrange("z", 0, -1, withscores=True)] == [("a", 1.0), ("b", 2.5)]
    r.sadd("set", *range(500))
    assert set(r.sscan_iter("set", count=50)) == {str(n) for n in range(500)}
    assert {k for k in r.scan_iter("k*", count=7)} == {f"k{n}" for n in range(100)}
    assert r.blpop("nothing", timeout=0.05) is None
    with r.lock("lock", timeout=5, blocking_timeout=5):
        assert not r.lock("lock", timeout=5).acquire(blocking=False)
    assert r.info("server")["redis_version"] and r.client_list() and r.config_get("maxmemory")
    assert isinstance(r.memory_usage("h"), int) and r.object("encoding", "h") == "listpack"


def streams(r):
    ids = [r.xadd("x", {"n": n}) for n in range(5)]
    r.xgroup_create("x", "g", "0")
    got = r.xreadgroup("g", "me", {"x": ">"}, count=3)
    # A map in RESP3, with one list more around the entries; pairs in RESP2.
    entries = got["x"] if isinstance(got, dict) else got[0][1]
    entries = entries[0] if isinstance(entries[0], list) else entries
    assert [entry[0] for entry in entries] == ids[:3], got
    assert r.xack("x", "g", ids[0]) == 1 and r.xpending("x", "g")["pending"] == 2
    assert r.xlen("x") == 5 and r.xinfo_stream("x")["length"] == 5
    claimed = r.xautoclaim("x", "g", "other", 0)
    assert [entry[0] for entry in claimed[1]] == ids[1:3], claimed


def main():
    topics = [pipelines, transactions, messages, scripts, values, streams]
    for protocol in (2, 3):
        r = connect(protocol)
        r.flushall()
        for topic in topics:
            topic(r)
        r.close()
    print(f"PASS redis-py {redis.__version__}: {len(topics)} topics in RESP2 and RESP3")


main()
