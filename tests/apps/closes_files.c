// closes_files.c - closes every file that it did not open itself, as daemons do, and opens its own, here under each of
// the numbers that the others had: nothing but its own words may ever stand in that.
#include "app.h"

#include <fcntl.h>

int main(void)
{
    char text[64] = "";
    float *data = memory();
    say("a", launch_a(data));
    for (int fd = 3; fd < 256; fd++) close(fd);
    int fd = open("own.txt", O_RDWR | O_CREAT | O_TRUNC, 0644);
    say("write", (int)write(fd, "own", 3));
    for (int other = 4; other < 256; other++) dup2(fd, other);
    say("b", launch_b(data));
    say("last", cudaGetLastError());
    say("write", (int)write(fd, "own", 3));
    say("length", (int)pread(fd, text, sizeof text - 1, 0));
    puts(text);
    return 0;
}
