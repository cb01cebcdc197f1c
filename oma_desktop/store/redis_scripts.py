"""The changes of a RedisStore as scripts: each is one atomic step on the server.

KEYS: rows, metadata, created, order, revision, leases. The revision counts changes and also gives
the order of insertion; it begins at the time in milliseconds, so that a server that forgot
everything does not count the same numbers again. A lease row begins with its token.
ARGV 1-3: run and token of the fence (token empty: none), channel.
"""

from __future__ import annotations

from typing import Final

FENCED: Final = -1

_HEAD: Final = """
local rows, metadata, created, order, revision, leases = unpack(KEYS)
local run, token, channel = ARGV[1], ARGV[2], ARGV[3]
if token ~= '' then
  local lease = redis.call('HGET', leases, run)
  if not lease or string.sub(lease, 1, #token + 1) ~= token .. '\\n' then return -1 end
end
local function changed()
  redis.call('PUBLISH', channel, '')
end
"""

PUT: Final = (
    _HEAD
    + """
local key, value, about, now, mode, expected = unpack(ARGV, 4)
if mode == 'absent' and redis.call('HEXISTS', rows, key) == 1 then return 0 end
if mode == 'equal' and redis.call('HGET', rows, key) ~= expected then return 0 end
redis.call('SET', revision, now, 'NX')
local n = redis.call('INCR', revision)
redis.call('ZADD', order, 'NX', n, key)
redis.call('HSETNX', created, key, now)
redis.call('HSET', metadata, key, about)
redis.call('HSET', rows, key, value)
changed()
return 1
"""
)

NOTE_PUT: Final = """
local rows, metadata, created, order, revision = unpack(KEYS)
local channel, key, about, now = unpack(ARGV)
redis.call('HEXISTS', rows, key)
redis.call('SET', revision, now, 'NX')
local n = redis.call('INCR', revision)
redis.call('ZADD', order, 'NX', n, key)
redis.call('HSETNX', created, key, now)
redis.call('HSET', metadata, key, about)
redis.call('PUBLISH', channel, '')
"""
"""What a change needs beside its value, which a transaction sets just before: within a script a
big value would be copied three times. Names the rows first, so a place that is no store stays."""

DELETE: Final = (
    _HEAD
    + """
local key = ARGV[4]
if redis.call('HDEL', rows, key) == 1 then
  redis.call('HDEL', metadata, key)
  redis.call('HDEL', created, key)
  redis.call('ZREM', order, key)
  redis.call('INCR', revision)
  changed()
end
return 1
"""
)

CLEAR: Final = (
    _HEAD
    + """
redis.call('DEL', rows, metadata, created, order)
redis.call('INCR', revision)
changed()
return 1
"""
)

SWAP_LEASE: Final = (
    _HEAD
    + """
local lease, expects, expected, new = unpack(ARGV, 4)
local old = redis.call('HGET', leases, lease)
if expects == '1' then
  if old ~= expected then return 0 end
elseif old then
  return 0
end
if new == '' then
  redis.call('HDEL', leases, lease)
else
  redis.call('HSET', leases, lease, new)
end
if not old or new == '' or string.match(old, '^[^\\n]*') ~= string.match(new, '^[^\\n]*') then
  changed()
end
return 1
"""
)
