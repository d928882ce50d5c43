-- Gives back what checks took.
--
-- After the rules, ARGV has the time of the taking in microseconds, and for each check its cost, how
-- many rules it is under, and their places.
return answer(function()
  local now, grace = read_time(), next_number()
  local rules = read_rules()
  local taken = next_number()
  while cursor < #ARGV do
    local cost = next_number()
    for _ = 1, next_number() do
      local rule = rules[next_number()]
      local state = rule.state
      if state.found then
        -- What an earlier check left may count for less than it did.
        state.settled_by = nil
        settle(rule, now)
        state.dirty = rule.step.refund(state, rule, cost, taken) or state.dirty
      end
    end
  end
  save_all(rules, now, grace)
  return redis.status_reply('OK')
end)
