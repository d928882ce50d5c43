-- The rolling window: an exact log of what was taken when.
--
-- The state is a list S0 t1 S1 t2 S2 ...: what was taken at the instant tk is Sk - S(k-1). Running
-- sums instead of amounts make the sum of any stretch one subtraction, so what has expired and what
-- a denied cost has to wait for are each found by bisection, however long the log is; and dropping
-- the oldest k entries is one LPOP of 2k elements, which leaves Sk in front. A Redis list keeps such
-- integers packed, some nine bytes each. Sums run modulo 2^53; a limit is below 2^52, so differences
-- are exact.
--
-- In the script, entries first..last stand as they are in the list, and `tail`, if there is one,
-- takes the place of those after `last`. `base` is the sum before `first`, `origin` that before all.
makers.rolling_window = function()
  local step = {}

  -- Entries that are read at once: short logs fit, and of the others the old end is what counts.
  local CHUNK = 8
  -- Elements in one command; Lua's stack bounds it.
  local BATCH = 2000

  -- An element of the list as a number.
  local function element(key, digits)
    if not digits or not string.find(digits, '^%d+$') then
      refuse(key)
    end
    return number(key, digits)
  end

  local function minus(a, b)
    return a >= b and a - b or a + (DOMAIN - b)
  end

  local function plus(a, b)
    return b >= DOMAIN - a and b - (DOMAIN - a) or a + b
  end

  -- Entry k: its instant and the running sum up to it.
  local function entry(state, k)
    if not state.times[k] then
      local time, sum = state.head[2 * k], state.head[2 * k + 1]
      if not sum then
        local found = read(state.key, 'LRANGE', state.key, 2 * k - 1, 2 * k)
        time, sum = found[1], found[2]
      end
      state.times[k], state.sums[k] = element(state.key, time), element(state.key, sum)
    end
    return state.times[k], state.sums[k]
  end

  -- The first of low..high for which `holds`, or high + 1. What holds for one holds for all after.
  -- It is usually among the first few, so steps from the front double before they halve.
  local function first_where(low, high, holds)
    local stride = 1
    while low <= high do
      local probe = math.min(low + stride - 1, high)
      if holds(probe) then
        high = probe - 1
        break
      end
      low, stride = probe + 1, stride * 2
    end
    while low <= high do
      local middle = math.floor((low + high) / 2)
      if holds(middle) then
        high = middle - 1
      else
        low = middle + 1
      end
    end
    return low
  end

  -- The newest instant and the sum up to it.
  local function newest(state)
    if state.tail then
      return state.tail.time, state.tail.sum
    end
    if state.last >= state.first then
      return entry(state, state.last)
    end
    return nil, state.base
  end

  local function used(state)
    local _, sum = newest(state)
    return minus(sum, state.base)
  end

  function step.load(state)
    local head = read(state.key, 'LRANGE', state.key, 0, 2 * CHUNK)
    state.head, state.times, state.sums = head, {}, {}
    state.first, state.last, state.base = 1, 0, 0
    state.found = #head > 0
    if not state.found then
      return
    end
    local length = #head > 2 * CHUNK and redis.call('LLEN', state.key) or #head
    if math.fmod(length, 2) == 0 or length < 3 then
      refuse(state.key)
    end
    state.base = element(state.key, head[1])
    state.origin = state.base
    state.last = (length - 1) / 2
    state.length = state.last
    -- Seen now, so that whatever is done with a list that is not ours refuses it.
    entry(state, 1)
    entry(state, state.last)
  end

  function step.settle(state, rule, now)
    local time, sum = newest(state)
    if not time then
      return now
    end
    local at, stepped = reading(now, time, rule.window)
    if stepped then
      -- Everything later than now is stamped with now.
      state.last = first_where(state.first, state.last, function(k)
        return entry(state, k) >= now
      end) - 1
      state.tail, state.stepped = { time = now, sum = sum }, true
    end
    local first = first_where(state.first, state.last, function(k)
      return entry(state, k) + rule.window > at
    end)
    if first > state.first then
      local _, dropped = entry(state, first - 1)
      state.first, state.base = first, dropped
    end
    return at
  end

  function step.wait(state, rule, at, cost)
    if cost > rule.max then
      return nil
    end
    local over = used(state) - (rule.max - cost)
    if over <= 0 then
      return 0
    end
    local k = first_where(state.first, state.last, function(k)
      local _, sum = entry(state, k)
      return minus(sum, state.base) >= over
    end)
    local time = k <= state.last and entry(state, k) or state.tail.time
    return time + rule.window - at
  end

  function step.charge(state, rule, at, cost)
    local amount = math.min(cost, 2 * rule.max - used(state))
    if amount <= 0 then
      return
    end
    local time, sum = newest(state)
    if time == at and not state.tail then
      state.last = state.last - 1
    end
    state.tail, state.pruned = { time = at, sum = plus(sum, amount) }, true
  end

  -- Takes `amount` from the sums of entries from..length of the list, the first of which goes away
  -- when `whole`. This reads and writes all of them: what is refunded is usually among the newest.
  local function rewrite(state, from, amount, whole)
    local kept, skip = {}, whole
    for low = 2 * from - 1, 2 * state.last, BATCH do
      local high = math.min(low + BATCH - 1, 2 * state.last)
      local elements = read(state.key, 'LRANGE', state.key, low, high)
      for place = 1, #elements, 2 do
        if not skip then
          kept[#kept + 1] = elements[place]
          kept[#kept + 1] = text(minus(element(state.key, elements[place + 1]), amount))
        end
        skip = false
      end
    end
    redis.call('LTRIM', state.key, 0, 2 * from - 2)
    for low = 1, #kept, BATCH do
      redis.call('RPUSH', state.key, unpack(kept, low, math.min(low + BATCH - 1, #kept)))
    end
    state.last = from - 1 + #kept / 2
    state.length, state.head, state.times, state.sums = state.last, {}, {}, {}
  end

  -- From the newest entry no later than the taking: a late reading was written under a slightly later
  -- time, and then an older entry stands in for it, which frees no more than was taken.
  function step.refund(state, _, cost, taken)
    local tail = state.tail
    if tail and tail.time <= taken then
      local _, before = nil, state.base
      if state.last >= state.first then
        _, before = entry(state, state.last)
      end
      tail.sum = minus(tail.sum, math.min(cost, minus(tail.sum, before)))
      if tail.sum == before then
        state.tail = nil
      end
      state.pruned = true
      return true
    end
    local k = first_where(state.first, state.last, function(k)
      return entry(state, k) > taken
    end) - 1
    if k < state.first then
      return false
    end
    state.pruned = true
    local before = state.base
    if k > state.first then
      _, before = entry(state, k - 1)
    end
    local _, sum = entry(state, k)
    local amount = math.min(cost, minus(sum, before))
    rewrite(state, k, amount, amount == minus(sum, before))
    if tail then
      tail.sum = minus(tail.sum, amount)
    end
    return true
  end

  function step.remaining(state, rule)
    return math.max(0, rule.max - used(state))
  end

  function step.reset(state, rule, at)
    local time = newest(state)
    return time and time + rule.window - at or 0
  end

  function step.save(state, ttl)
    local key, tail = state.key, state.tail
    if not state.pruned then
      -- A denial that only stamps the log anew drops nothing from it.
      state.first, state.base = 1, state.origin
    end
    if state.first > state.last then
      redis.call('DEL', key)
      if not tail then
        return
      end
      -- Nothing of the list is left: the sums may start again at zero.
      redis.call('RPUSH', key, 0, text(tail.time), text(minus(tail.sum, state.base)))
    else
      if state.last < state.length then
        redis.call('RPOP', key, 2 * (state.length - state.last))
      end
      if state.first > 1 then
        redis.call('LPOP', key, 2 * (state.first - 1))
      end
      if tail then
        redis.call('RPUSH', key, text(tail.time), text(tail.sum))
      end
    end
    redis.call('PEXPIRE', key, ttl)
  end

  return step
end
