-- The minimum spacing: one request of a key no sooner than an interval after the last.
--
-- The state is "last". It knows no amounts: any cost above zero is one request. Of a rule, window is
-- the interval.
makers.min_interval = function()
  local step = { is_spacing = true }

  function step.load(state)
    state.last = read_numbers(state.key, '^(%d+)$')
    state.found = state.last ~= nil
  end

  function step.settle(state, rule, now)
    if not state.last then
      return now
    end
    local at, stepped = reading(now, state.last, rule.window)
    if stepped then
      state.last, state.stepped = now, true
    elseif state.last + rule.window <= at then
      state.last = nil
    end
    return at
  end

  function step.wait(state, rule, at)
    return step.reset(state, rule, at)
  end

  function step.charge(state, _, at)
    state.last = at
  end

  function step.refund()
    return false
  end

  function step.remaining()
    return 0
  end

  function step.reset(state, rule, at)
    return state.last and state.last + rule.window - at or 0
  end

  function step.save(state, ttl)
    if state.last then
      redis.call('SET', state.key, text(state.last), 'PX', ttl)
    else
      redis.call('DEL', state.key)
    end
  end

  return step
end
