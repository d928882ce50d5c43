-- POST /limit for 100k keys in random order; the requests are written out once.
local requests, at = {}, 0
init = function(args)
  math.randomseed(1)
  for i = 1, 100000 do
    local key = string.format("user:%06x", math.random(0, 99999))
    requests[i] = wrk.format("POST", "/limit", { ["X-Client-Key"] = key })
  end
end
request = function()
  at = at % #requests + 1
  return requests[at]
end
