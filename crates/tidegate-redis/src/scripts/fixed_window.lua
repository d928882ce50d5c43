-- The fixed window: a count that starts again with each window.
--
-- The state is "start used". Of a rule, detail is 1 when a window starts at a key's first request
-- and 0 when it starts at a whole multiple of its length since the Unix epoch.
makers.fixed_window = function()
  local step = {}

  function step.load(state)
    local start, used = read_numbers(state.key, '^(%d+) (%d+)$')
    state.found = start ~= nil
    state.start, state.used = start or 0, used or 0
  end

  function step.settle(state, rule, now)
    if state.used == 0 or now >= state.start + rule.window then
      state.start = rule.detail == 1 and now or floor_to(now, rule.window)
      state.used = 0
      return now
    end
    local at, stepped = reading(now, state.start, rule.window)
    if stepped then
      -- The window begins anew where the clock is and keeps its count.
      state.start, state.stepped = now, true
    end
    return at
  end

  function step.wait(state, rule, at, cost)
    if cost > rule.max then
      return nil
    end
    return state.used <= rule.max - cost and 0 or step.reset(state, rule, at)
  end

  function step.charge(state, rule, _, cost)
    local most = 2 * rule.max
    cost = math.min(cost, most)
    state.used = cost >= most - state.used and most or state.used + cost
  end

  function step.refund(state, _, cost, taken)
    if taken < state.start then
      return false
    end
    state.used = math.max(0, state.used - cost)
    return true
  end

  function step.remaining(state, rule)
    return math.max(0, rule.max - state.used)
  end

  function step.reset(state, rule, at)
    return state.used == 0 and 0 or state.start + rule.window - at
  end

  function step.save(state, ttl)
    if state.used == 0 then
      redis.call('DEL', state.key)
      return
    end
    redis.call('SET', state.key, text(state.start) .. ' ' .. text(state.used), 'PX', ttl)
  end

  return step
end
