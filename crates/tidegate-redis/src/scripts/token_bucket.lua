-- The token bucket: a debt that is paid back continuously.
--
-- The state is "time debt den": the debt is counted in 1/den of a millionth, of which exactly num come
-- back each microsecond, so nothing is ever rounded. den is there for the day the rate changes.
-- Of a rule, max is the capacity, window is num and detail is den.
makers.token_bucket = function()
  local step = {}

  -- Counts the debt in another denominator, rounded up: a change of rate earns nothing.
  local function convert(state, rule)
    local most = 2 * rule.max
    local part = math.fmod(state.debt, state.den)
    local whole = (state.debt - part) / state.den
    if whole >= most then
      state.debt = most * rule.detail
    else
      state.debt = whole * rule.detail + mul_div_ceil(rule.detail, part, state.den)
    end
    state.den = rule.detail
  end

  function step.load(state)
    local time, debt, den = read_numbers(state.key, '^(%d+) (%d+) (%d+)$')
    if den == 0 then
      refuse(state.key)
    end
    state.found = time ~= nil
    state.time, state.debt, state.den = time or 0, debt or 0, den
  end

  function step.settle(state, rule, now)
    if not state.den then
      state.den = rule.detail
    elseif state.den ~= rule.detail then
      convert(state, rule)
    end
    local lag = state.time - now
    if lag > 0 then
      -- Products beyond 2^53 are rounded here and below, but never to under what they are compared
      -- with.
      if lag <= LATE_AT_MOST and lag * rule.window <= rule.max * rule.detail then
        return state.time
      end
      state.stepped = true
    else
      state.debt = math.max(0, state.debt + lag * rule.window)
    end
    state.time = now
    return now
  end

  function step.wait(state, rule, _, cost)
    if cost > rule.max then
      return nil
    end
    local over = state.debt - (rule.max - cost) * rule.detail
    return over > 0 and ceil_div(over, rule.window) or 0
  end

  function step.charge(state, rule, _, cost)
    local most = 2 * rule.max * rule.detail
    local charged = math.min(cost, 2 * rule.max) * rule.detail
    state.debt = charged >= most - state.debt and most or state.debt + charged
  end

  function step.refund(state, rule, cost)
    state.debt = math.max(0, state.debt - math.min(cost, 2 * rule.max) * rule.detail)
    state.time = state.debt > 0 and state.time or 0
    return true
  end

  function step.remaining(state, rule)
    local left = rule.max * rule.detail - state.debt
    return left > 0 and floor_to(left, rule.detail) / rule.detail or 0
  end

  function step.reset(state, rule)
    return ceil_div(state.debt, rule.window)
  end

  function step.save(state, ttl)
    -- Full means the same as absent, and leaves no time that a late clock could meet.
    if state.debt == 0 then
      redis.call('DEL', state.key)
      return
    end
    local value = text(state.time) .. ' ' .. text(state.debt) .. ' ' .. text(state.den)
    redis.call('SET', state.key, value, 'PX', ttl)
  end

  return step
end
