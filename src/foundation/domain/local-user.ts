/** Header with the Unix user of a command that uses the daemon's socket. Remote callers have their own names. */
export const LOCAL_USER_HEADER = 'opsd-local-user';
