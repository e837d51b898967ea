/** Header in which a command names its Unix user over the daemon's socket. Remote callers have their own names. */
export const LOCAL_USER_HEADER = 'opsd-local-user';
