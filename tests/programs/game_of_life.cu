// Conways Spiel des Lebens auf einem Torus: jede Zelle ein Byte.
// Übersetzen: nvcc -o game_of_life game_of_life.cu
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

typedef std::uint8_t Zelle;

// Größe des Feldes und der Blöcke
enum { BREITE = 192, HOEHE = 130, BLOCK_X = 32, BLOCK_Y = 4 };

#define PRUEFE(aufruf)                                                             \
    if (cudaError_t fehler = (aufruf)) {                                           \
        std::fprintf(stderr, "Zeile %d: %s\n", __LINE__, cudaGetErrorString(fehler)); \
        return EXIT_FAILURE;                                                       \
    } else                                                                         \
        (void)0

// Zählt die acht Nachbarn; der Rand setzt sich gegenüber fort.
__device__ static int nachbarn(const Zelle *feld, int x, int y, int breite, int hoehe)
{
    int anzahl = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dx == 0 && dy == 0) continue;
            int nx = (x + dx + breite) % breite, ny = (y + dy + hoehe) % hoehe;
            anzahl += feld[ny * breite + nx];
        }
    }
    return anzahl;
}

__global__ void naechste_generation(const Zelle *alt, Zelle *neu, int breite, int hoehe)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < breite && y < hoehe) {
        // Überleben mit 2 oder 3 Nachbarn, Geburt mit 3
        switch (nachbarn(alt, x, y, breite, hoehe)) {
        case 2: neu[y * breite + x] = alt[y * breite + x]; break;
        case 3: neu[y * breite + x] = 1; break;
        default: neu[y * breite + x] = 0;
        }
    }
}

// Dasselbe auf dem Host, zum Vergleich.
static void auf_dem_host(const std::vector<Zelle> &alt, std::vector<Zelle> &neu)
{
    for (int y = 0; y < HOEHE; y++)
        for (int x = 0; x < BREITE; x++) {
            int n = 0;
            for (int k = 0; k < 9; k++)
                if (k != 4)
                    n += alt[(y + k / 3 - 1 + HOEHE) % HOEHE * BREITE + (x + k % 3 - 1 + BREITE) % BREITE];
            neu[y * BREITE + x] = n == 3 || (n == 2 && alt[y * BREITE + x]);
        }
}

static void zeige(const std::vector<Zelle> &feld, int zeilen)
{
    for (int y = 0; y < zeilen; y++) {
        std::string zeile;
        for (int x = 0; x < 78; x++) zeile += feld[y * BREITE + x] ? '#' : '.';
        std::puts(zeile.c_str());
    }
}

int main(int argc, char **argv)
{
    const int generationen = 50;
    const bool laut = argc > 1 && !std::strcmp(argv[1], "-v");
    std::vector<Zelle> feld(BREITE * HOEHE), soll, hilf(feld.size());
    for (std::size_t i = 0; i < feld.size(); i++) feld[i] = (i * 2654435761u >> 13) % 3 == 0;
    soll = feld;

    Zelle *a, *b;
    PRUEFE(cudaMalloc(&a, feld.size()));
    PRUEFE(cudaMalloc(&b, feld.size()));
    PRUEFE(cudaMemcpy(a, feld.data(), feld.size(), cudaMemcpyHostToDevice));
    const dim3 block(BLOCK_X, BLOCK_Y), gitter((BREITE + BLOCK_X - 1) / BLOCK_X, (HOEHE + BLOCK_Y - 1) / BLOCK_Y);
    for (int g = 0; g < generationen; g++) {
        naechste_generation<<<gitter, block>>>(a, b, BREITE, HOEHE);
        std::swap(a, b);
    }
    PRUEFE(cudaGetLastError());
    PRUEFE(cudaMemcpy(feld.data(), a, feld.size(), cudaMemcpyDeviceToHost));
    for (int g = 0; g < generationen; g++) {
        auf_dem_host(soll, hilf);
        soll.swap(hilf);
    }
    if (laut) zeige(feld, 24);
    PRUEFE(cudaFree(a));
    PRUEFE(cudaFree(b));
    const bool gleich = feld == soll;
    std::puts(gleich ? "OK" : "Die Felder unterscheiden sich.");
    return gleich ? EXIT_SUCCESS : EXIT_FAILURE;
}
