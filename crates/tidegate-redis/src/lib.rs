//! tidegate-redis
