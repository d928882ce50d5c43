-- Forgets what keys have used; what is not ours stays.
--
-- ARGV has the algorithm of each key.
return answer(function()
  for place, key in ipairs(KEYS) do
    steps(ARGV[place]).load({ key = key })
  end
  for _, key in ipairs(KEYS) do
    redis.call('UNLINK', key)
  end
  return redis.status_reply('OK')
end)
